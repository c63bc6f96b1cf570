// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause

//! Handles: the device's names for its objects.

#![forbid(unsafe_code)]

use crate::wire::command::Opcode;
use core::marker::PhantomData;
use kernel::fmt;

/// A kind of object that the device keeps.
pub(crate) trait Kind {
    /// The command that destroys an object of this kind.
    const DESTROY: Opcode;
}

macro_rules! kinds {
    ($($(#[$meta:meta])* $kind:ident => $destroy:ident,)*) => {
        $(
            $(#[$meta])*
            pub(crate) enum $kind {}

            impl Kind for $kind {
                const DESTROY: Opcode = Opcode::$destroy;
            }
        )*
    };
}

kinds! {
    /// A user context.
    Uc => DestroyUc,
    /// A protection domain.
    Pd => DestroyPd,
    /// A memory region.
    Mr => DestroyMr,
    /// A completion queue.
    Cq => DestroyCq,
    /// A shared receive queue.
    Srq => DestroySrq,
    /// A queue pair.
    Qp => DestroyQp,
}

/// Handle of an object of kind `K`; handles of different kinds do not mix.
pub(crate) struct Handle<K>(u32, PhantomData<fn() -> K>);

impl<K> Handle<K> {
    /// Names the object that the device calls `raw`.
    pub(crate) const fn new(raw: u32) -> Self {
        Self(raw, PhantomData)
    }

    /// Returns the number on the wire.
    pub(crate) const fn raw(self) -> u32 {
        self.0
    }
}

impl<K> Clone for Handle<K> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<K> Copy for Handle<K> {}

impl<K> PartialEq for Handle<K> {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}

impl<K> Eq for Handle<K> {}

impl<K> fmt::Display for Handle<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
