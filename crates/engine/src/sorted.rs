//! A map for a handful of entries: one sorted list. It refuses to be large: what may grow to
//! thousands has a tree.

use alloc::vec::Vec;

#[derive(Clone, Debug)]
pub(crate) struct Sorted<K, V>(Vec<(K, V)>);

impl<K, V> Default for Sorted<K, V> {
    fn default() -> Self {
        Self::new()
    }
}

impl<K, V> Sorted<K, V> {
    pub(crate) const fn new() -> Self {
        Self(Vec::new())
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) const fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    /// In the order of the keys.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&K, &V)> {
        self.0.iter().map(|(key, value)| (key, value))
    }

    pub(crate) fn keys(&self) -> impl Iterator<Item = &K> {
        self.0.iter().map(|(key, _)| key)
    }

    pub(crate) fn values(&self) -> impl Iterator<Item = &V> {
        self.0.iter().map(|(_, value)| value)
    }

    pub(crate) fn values_mut(&mut self) -> impl Iterator<Item = (&K, &mut V)> {
        self.0.iter_mut().map(|(key, value)| (&*key, value))
    }
}

impl<K: Ord, V> Sorted<K, V> {
    pub(crate) fn get(&self, key: &K) -> Option<&V> {
        let at = self.find(key).ok()?;
        self.0.get(at).map(|(_, value)| value)
    }

    pub(crate) fn at_mut(&mut self, key: &K) -> Option<&mut V> {
        let at = self.find(key).ok()?;
        self.0.get_mut(at).map(|(_, value)| value)
    }

    pub(crate) fn contains_key(&self, key: &K) -> bool {
        self.find(key).is_ok()
    }

    /// What stood there before.
    pub(crate) fn insert(&mut self, key: K, value: V) -> Option<V> {
        match self.find(&key) {
            Ok(at) => self.0.get_mut(at).map(|(_, old)| core::mem::replace(old, value)),
            Err(at) => {
                self.0.insert(at, (key, value));
                None
            }
        }
    }

    pub(crate) fn remove(&mut self, key: &K) -> Option<V> {
        let at = self.find(key).ok()?;
        Some(self.0.remove(at).1)
    }

    fn find(&self, key: &K) -> Result<usize, usize> {
        self.0.binary_search_by(|(other, _)| other.cmp(key))
    }
}

impl<K: Ord + Copy, V: Default> Sorted<K, V> {
    pub(crate) fn or_default(&mut self, key: K) -> &mut V {
        let at = match self.find(&key) {
            Ok(at) => at,
            Err(at) => {
                self.0.insert(at, (key, V::default()));
                at
            }
        };
        &mut self.0[at].1
    }
}

#[cfg(test)]
mod tests {
    use super::Sorted;
    use std::vec::Vec;

    #[test]
    fn it_is_a_map_in_the_order_of_its_keys() {
        let mut map = Sorted::new();
        for key in [5, 1, 9, 1] {
            *map.or_default(key) += 1;
        }
        assert_eq!(map.iter().map(|(k, v)| (*k, *v)).collect::<Vec<_>>(), [(1, 2), (5, 1), (9, 1)]);
        assert_eq!(map.insert(5, 7), Some(1));
        assert_eq!((map.remove(&5), map.remove(&5)), (Some(7), None));
        assert_eq!((map.get(&9), map.get(&5), map.len()), (Some(&1), None, 2));
    }
}
