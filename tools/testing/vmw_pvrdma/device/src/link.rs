// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The link: whether the port has a carrier.
//!
//! The carrier is given from outside, by whoever runs the adapter. It is up from the start.

use serde::Deserialize;

use crate::adapter::Adapter;
use crate::events::AsyncEvent;

/// State of the link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Link {
    /// There is a carrier.
    Up,
    /// Nothing goes in or out.
    Down,
}

impl Adapter {
    /// Changes the link and tells the driver.
    pub fn set_link(&mut self, link: Link) {
        if std::mem::replace(&mut self.link, link) == link {
            return;
        }
        self.async_event(match link {
            Link::Up => AsyncEvent::PortActive,
            Link::Down => AsyncEvent::PortError,
        });
    }

    /// The link's state.
    pub fn link(&self) -> Link {
        self.link
    }
}
