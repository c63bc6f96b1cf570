// SPDX-License-Identifier: GPL-2.0

//! What the objects that the core allocates have in common.

/// Implements the common part of an object whose C structure is at offset 0.
///
/// The core allocates `SIZE` bytes, fills the C structure, asks the driver to initialise the rest,
/// and frees the memory after the driver was asked to release the object again.
macro_rules! core_object {
    ($name:ident, $ib:ident, $data:ident) => {
        impl<D: Driver> $name<D> {
            /// Size to be allocated for the object.
            #[allow(dead_code, reason = "memory regions are allocated by this module")]
            pub(super) const SIZE: usize = {
                assert!(core::mem::offset_of!(Self, ib) == 0);
                super::kmalloc_size::<Self>()
            };

            /// Returns the C structure.
            #[inline]
            pub(super) fn as_raw(&self) -> *mut bindings::$ib {
                self.ib.get()
            }

            /// Makes a reference out of the C pointer.
            ///
            /// # Safety
            ///
            /// `ptr` must point to an object of a device of `D` that was created successfully and
            /// is not destroyed for as long as the result is used.
            #[inline]
            pub(super) unsafe fn from_raw<'a>(ptr: *mut bindings::$ib) -> &'a Self {
                // SAFETY: By the requirement; the C structure is at offset 0.
                unsafe { &*ptr.cast() }
            }

            /// Makes a reference out of a C pointer that may be null.
            ///
            /// # Safety
            ///
            /// As for [`from_raw`](Self::from_raw) if `ptr` is not null.
            #[allow(dead_code, reason = "not all objects are optional somewhere")]
            #[inline]
            pub(super) unsafe fn from_raw_or_null<'a>(ptr: *mut bindings::$ib) -> Option<&'a Self> {
                // SAFETY: By the requirement; the C structure is at offset 0.
                unsafe { ptr.cast::<Self>().as_ref() }
            }

            /// Calls `f` with the context of the device of the object.
            ///
            /// # Safety
            ///
            /// To be called by a callback for this object, which need not be initialised yet.
            #[inline]
            pub(super) unsafe fn with_device<R>(
                ptr: *mut bindings::$ib,
                f: impl for<'a> FnOnce(&Ctx<'a, D>) -> R,
            ) -> R {
                // SAFETY: The core sets the device before the driver sees the object.
                let dev = unsafe { (*ptr).device };

                // SAFETY: This is a callback of the device.
                unsafe { Device::with(dev, f) }
            }

            /// Calls `f` with the context of the device and the object.
            ///
            /// # Safety
            ///
            /// To be called by a callback for this object, which was created successfully.
            #[allow(
                dead_code,
                reason = "some objects have no callback between create and destroy"
            )]
            #[inline]
            pub(super) unsafe fn with<R>(
                ptr: *mut bindings::$ib,
                f: impl for<'a> FnOnce(&Ctx<'a, D>, &'a Self) -> R,
            ) -> R {
                // SAFETY: By the requirement; the core keeps the object for the callback.
                let this = unsafe { Self::from_raw(ptr) };

                // SAFETY: By the requirement.
                unsafe { Self::with_device(ptr, |ctx| f(ctx, this)) }
            }

            /// Returns the device of the object.
            #[inline]
            pub fn device(&self) -> &Device<D> {
                // SAFETY: The core sets the device before the driver sees the object, and all
                // objects are gone before the device is.
                unsafe { Device::from_raw((*self.as_raw()).device) }
            }
        }

        impl<D: Driver> core::ops::Deref for $name<D> {
            type Target = D::$data;

            #[inline]
            fn deref(&self) -> &Self::Target {
                &self.data
            }
        }

        // SAFETY: The C part may be used from any thread, and the driver's part is `Send`.
        unsafe impl<D: Driver> Send for $name<D> {}

        // SAFETY: The C part is protected by the core, and the driver's part is `Sync`.
        unsafe impl<D: Driver> Sync for $name<D> {}
    };
}

/// Implements the common part of a core object that also has events, next to [`core_object`].
///
/// Behind the C structure the object has the fields `events` and `data`; `$init` stands for it while
/// it is being created.
macro_rules! core_object_with_events {
    ($name:ident, $ib:ident, $init:ident) => {
        impl<D: Driver> $name<D> {
            /// Initialises what is behind the C structure and answers user space.
            ///
            /// If one of it fails, nothing is left of the object.
            ///
            /// # Safety
            ///
            /// - `raw` must be an object that the core is creating: it has filled the C structure,
            ///   reserved `SIZE` bytes, and frees them, without moving them before, if this fails or
            ///   after the callback that destroys the object.
            /// - `init` must stand for that object.
            unsafe fn init(
                ctx: &Ctx<'_, D>,
                raw: *mut bindings::$ib,
                mut init: $init<'_, D>,
                udata: Option<Udata<'_>>,
            ) -> Result {
                let this = raw.cast::<Self>();

                // SAFETY: By the requirement.
                let result = unsafe {
                    pin_init::raw_try_init(
                        &raw mut (*this).data,
                        D::$name::create(ctx, &mut init, udata.as_ref()),
                    )
                };
                let events = init.events;
                if let Err(e) = result {
                    if let Some(events) = events {
                        events.disarm();
                    }
                    return Err(e);
                }
                // SAFETY: The field is reserved as above and not initialised yet.
                unsafe { (&raw mut (*this).events).write(events) };

                if let Some(udata) = &udata {
                    // SAFETY: The object was initialised above.
                    if let Err(e) = D::$name::respond(ctx, unsafe { Self::from_raw(raw) }, udata) {
                        // SAFETY: As above; the core does not know it yet.
                        unsafe { Self::destroy(ctx, raw) };
                        return Err(e);
                    }
                }
                Ok(())
            }

            /// Destroys what is behind the C structure.
            ///
            /// # Safety
            ///
            /// `raw` must be an object that was created and that nobody uses any more.
            pub(super) unsafe fn destroy(ctx: &Ctx<'_, D>, raw: *mut bindings::$ib) {
                let this = raw.cast::<Self>();

                {
                    // SAFETY: By the requirement.
                    let this = unsafe { Self::from_raw(raw) };

                    D::$name::destroy(ctx, this);
                    if let Some(events) = &this.events {
                        events.disarm();
                    }
                }
                // SAFETY: By the requirement; it is not used after this.
                unsafe { core::ptr::drop_in_place(&raw mut (*this).data) };
                // SAFETY: As above.
                unsafe { core::ptr::drop_in_place(&raw mut (*this).events) };
            }
        }

        impl<D: Driver> $init<'_, D> {
            /// Makes the sink for the events of the object.
            ///
            /// `class` is to be made with [`static_lock_class!`](crate::static_lock_class) by the
            /// driver. Further calls return the same sink.
            pub fn events(
                &mut self,
                class: Pin<&'static LockClassKey>,
            ) -> Result<Arc<EventSink<bindings::$ib>>> {
                if let Some(events) = &self.events {
                    return Ok(events.clone());
                }
                // SAFETY: Valid by the type invariant; it is disarmed when the creation fails or
                // when the object is destroyed.
                let events = unsafe { EventSink::new(self.raw, class) }?;

                self.events = Some(events.clone());
                Ok(events)
            }
        }
    };
}
