//! Hash maps and sets with a quick hasher, seeded anew in every process; nothing walks through them in their order.

use foldhash::fast::RandomState;

/// A map for lookups.
pub type HashMap<K, V> = std::collections::HashMap<K, V, RandomState>;

/// A set for lookups.
pub type HashSet<T> = std::collections::HashSet<T, RandomState>;
