//! A map that forgets its oldest entry when it is full. It refuses to grow.

use std::collections::{HashMap, VecDeque};
use std::hash::Hash;

#[derive(Debug)]
pub(super) struct Recent<K, V> {
    most: usize,
    entries: HashMap<K, V>,
    /// In the order in which they came.
    order: VecDeque<K>,
}

impl<K: Clone + Eq + Hash, V> Recent<K, V> {
    pub(super) fn new(most: usize) -> Self {
        Self { most: most.max(1), entries: HashMap::new(), order: VecDeque::new() }
    }

    pub(super) fn find(&self, key: &K) -> Option<&V> {
        self.entries.get(key)
    }

    /// Keeps a value; whether the key is new.
    pub(super) fn keep(&mut self, key: K, value: V) -> bool {
        if self.entries.insert(key.clone(), value).is_some() {
            return false;
        }
        if self.order.len() >= self.most
            && let Some(oldest) = self.order.pop_front()
        {
            self.entries.remove(&oldest);
        }
        self.order.push_back(key);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn g09_the_oldest_entry_goes_when_it_is_full() {
        let mut recent = Recent::new(2);
        assert!(recent.keep(1, 'a'));
        assert!(!recent.keep(1, 'b'));
        assert!(recent.keep(2, 'c') && recent.keep(3, 'd'));
        assert_eq!(recent.find(&1), None);
        assert_eq!((recent.find(&2), recent.find(&3)), (Some(&'c'), Some(&'d')));
        assert_eq!((recent.entries.len(), recent.order.len()), (2, 2));
    }
}
