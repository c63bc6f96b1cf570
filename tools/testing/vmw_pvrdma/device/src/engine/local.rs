// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Requests that concern only the adapter itself: fast registration and its end.

use super::Progress;
use crate::abi::cqe::Status;
use crate::abi::wqe::FastRegBody;
use crate::fabric::World;
use crate::objects::mr::KeyError;
use crate::schedule::QpRef;

/// Registers memory.
pub(super) fn register(world: &mut World, qp: QpRef, pd: u32, body: &FastRegBody) -> Progress {
    progress(world.adapters[qp.adapter].fast_register(pd, body))
}

/// Ends a registration.
pub(super) fn invalidate(world: &mut World, qp: QpRef, pd: u32, key: u32) -> Progress {
    progress(world.adapters[qp.adapter].invalidate(pd, key))
}

fn progress(result: Result<(), KeyError>) -> Progress {
    Progress::Done(match result {
        Ok(()) => Status::Success,
        Err(KeyError) => Status::LocalProtection,
    })
}
