//! How many connections each address holds.
//!
//! Stops one client from taking all the places of [`ServerConfig::max_connections`](super::ServerConfig). Consulted
//! once when a connection comes and once when it goes, by all cores, and only when the limit is set.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::net::IpAddr;
use std::num::NonZeroU32;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Who counts as one client: an IPv4 address, or the IPv6 network of 64 bits that is handed to one subscriber, who could
/// otherwise come from 2^64 addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Network {
    V4(u32),
    V6(u64),
}

impl Network {
    pub(super) fn of(address: IpAddr) -> Network {
        match address.to_canonical() {
            IpAddr::V4(address) => Network::V4(address.to_bits()),
            IpAddr::V6(address) => Network::V6((address.to_bits() >> 64) as u64),
        }
    }
}

/// See the module's documentation.
pub(super) struct Crowd {
    most: NonZeroU32,
    /// Only networks that hold a connection have an entry, so that it is bounded by the connections.
    held: Mutex<HashMap<Network, u32>>,
}

impl Crowd {
    pub(super) fn new(most: NonZeroU32) -> Crowd {
        Crowd { most, held: Mutex::new(HashMap::new()) }
    }

    /// Takes a place for a network; false when it has all it may have.
    pub(super) fn enter(&self, network: Network) -> bool {
        let mut held = self.held();
        let count = held.entry(network).or_insert(0);
        let admitted = *count < self.most.get();
        *count += u32::from(admitted);
        admitted
    }

    /// Gives one of its places back.
    pub(super) fn leave(&self, network: Network) {
        if let Entry::Occupied(mut count) = self.held().entry(network) {
            *count.get_mut() -= 1;
            if *count.get() == 0 {
                count.remove();
            }
        }
    }

    /// Nothing panics while it is held; a poisoned one is as good.
    fn held(&self) -> MutexGuard<'_, HashMap<Network, u32>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn network(text: &str) -> Network {
        Network::of(text.parse().unwrap())
    }

    #[test]
    fn a_network_has_its_places_and_no_more() {
        let crowd = Crowd::new(NonZeroU32::new(2).unwrap());
        let (one, other) = (network("192.0.2.1"), network("192.0.2.2"));
        assert_eq!([one, one, one, other].map(|network| crowd.enter(network)), [true, true, false, true]);
        crowd.leave(one);
        assert!(crowd.enter(one) && !crowd.enter(one));
        for network in [one, one, other] {
            crowd.leave(network);
        }
        assert!(crowd.held().is_empty(), "nothing is remembered of who is gone");
    }

    #[test]
    fn addresses_of_one_subscriber_are_one_network() {
        assert_eq!(network("2001:db8:1:2::3"), network("2001:db8:1:2:ffff::9"));
        assert_ne!(network("2001:db8:1:2::3"), network("2001:db8:1:3::3"));
        assert_eq!(network("::ffff:192.0.2.1"), network("192.0.2.1"));
        assert_ne!(network("192.0.2.1"), network("192.0.2.2"));
    }
}
