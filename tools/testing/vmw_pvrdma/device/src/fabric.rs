// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The fabric: all adapters of the process, and the thread that moves data between them.
//!
//! One lock guards everything, because one message may touch two adapters. The engine holds it
//! for one step at a time and then lets others in first, so that an access of a guest to its
//! adapter, during which the guest stands still, is short.

use std::sync::Arc;
use std::thread;
use std::time::Instant;

use parking_lot::{Condvar, Mutex, MutexGuard};

use crate::adapter::Adapter;
use crate::engine;
use crate::limits::Config;
use crate::objects::qp::Qp;
use crate::schedule::{QpRef, Schedule};
use crate::trace::Trace;

/// Everything that the lock guards.
pub(crate) struct World {
    /// The adapters by number.
    pub(crate) adapters: Vec<Adapter>,
    /// What the engine has to do.
    pub(crate) schedule: Schedule,
}

impl World {
    /// When there is something to do, if not at once.
    fn deadline(&self) -> Option<Instant> {
        let answers = self.adapters.iter().filter_map(|adapter| adapter.deferred.deadline());
        answers.chain(self.schedule.deadline()).min()
    }

    /// The queue pair, if it still exists.
    pub(crate) fn qp(&self, qp: QpRef) -> Option<&Qp> {
        let found = self.adapters.get(qp.adapter)?.objects.qps.get(qp.handle)?;
        (found.serial == qp.serial).then_some(found)
    }

    /// The queue pair, if it still exists, to change it.
    pub(crate) fn qp_mut(&mut self, qp: QpRef) -> Option<&mut Qp> {
        let found = self.adapters.get_mut(qp.adapter)?.objects.qps.get_mut(qp.handle)?;
        (found.serial == qp.serial).then_some(found)
    }
}

/// The adapters and the engine's alarm clock.
pub struct Fabric {
    world: Mutex<World>,
    work: Condvar,
}

impl Fabric {
    /// A fabric of `count` equal adapters, with its engine running.
    pub fn start(count: u32, config: Config, trace: &Trace) -> std::io::Result<Arc<Self>> {
        let adapters = (0..count).map(|id| Adapter::new(id, config, trace)).collect();
        let world = World { adapters, schedule: Schedule::default() };
        let fabric = Arc::new(Self { world: Mutex::new(world), work: Condvar::new() });
        let engine = Arc::clone(&fabric);
        thread::Builder::new().name("engine".into()).spawn(move || engine.run())?;
        Ok(fabric)
    }

    /// Number of adapters.
    pub fn count(&self) -> u32 {
        self.world.lock().adapters.len() as u32
    }

    /// Runs `action` on an adapter and wakes the engine if there is work afterwards.
    ///
    /// # Panics
    ///
    /// Panics if there is no adapter with this number.
    pub fn with<R>(&self, id: u32, action: impl FnOnce(&mut Adapter, &mut Schedule) -> R) -> R {
        let mut world = self.world.lock();
        let world = &mut *world;
        let result = action(&mut world.adapters[id as usize], &mut world.schedule);
        let adapter = &world.adapters[id as usize];
        let is_late = adapter.deferred.deadline().is_some() || adapter.storm.is_some();
        if world.schedule.has_work() || is_late {
            self.work.notify_one();
        }
        result
    }

    fn run(&self) {
        let mut world = self.world.lock();
        loop {
            let now = Instant::now();
            let mut storm = false;
            for adapter in &mut world.adapters {
                adapter.deliver_due(now);
                storm |= adapter.storm_step(now);
            }
            while let Some(qp) = world.schedule.expired(now) {
                engine::wake(&mut world, qp, now);
            }
            if let Some(qp) = world.schedule.pop() {
                engine::step(&mut world, qp, now);
                MutexGuard::bump(&mut world);
            } else if storm {
                MutexGuard::bump(&mut world);
            } else if let Some(deadline) = world.deadline() {
                self.work.wait_until(&mut world, deadline);
            } else {
                self.work.wait(&mut world);
            }
        }
    }
}
