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
