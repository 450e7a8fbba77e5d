//! Dense storage addressed by typed ids.

use std::fmt;
use std::marker::PhantomData;
use std::ops::{Index, IndexMut};

/// A `u32` newtype that names one item of an [`Arena`].
pub trait Id: Copy + Eq + Ord + fmt::Debug {
    /// The id of item number `index`.
    fn from_index(index: usize) -> Self;
    /// The position of the item.
    fn index(self) -> usize;
}

/// Declares id types: `define_id!(/// doc pub struct FooId = "foo");`.
#[macro_export]
macro_rules! define_id {
    ($( $(#[$doc:meta])* $vis:vis struct $name:ident = $prefix:literal; )*) => { $(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        $vis struct $name(u32);

        impl $crate::Id for $name {
            fn from_index(index: usize) -> Self {
                Self(u32::try_from(index).expect("arenas hold fewer than 2^32 items"))
            }
            fn index(self) -> usize {
                self.0 as usize
            }
        }

        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                write!(f, "{}{}", $prefix, self.0)
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                write!(f, "{}{}", $prefix, self.0)
            }
        }
    )* };
}

/// Items in insertion order, addressed by `I`.
#[derive(Clone, PartialEq)]
pub struct Arena<I, T> {
    items: Vec<T>,
    id: PhantomData<fn() -> I>,
}

impl<I: Id, T> Arena<I, T> {
    /// An arena without items.
    pub const fn new() -> Self {
        Arena {
            items: Vec::new(),
            id: PhantomData,
        }
    }

    /// Appends `item` and returns its id: the first gets 0.
    pub fn push(&mut self, item: T) -> I {
        let id = self.next_id();
        self.items.push(item);
        id
    }

    /// The id that the next pushed item will get.
    pub fn next_id(&self) -> I {
        I::from_index(self.items.len())
    }

    /// Number of items.
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// Whether there are no items.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// The item `id`, or `None` if it is not of this arena.
    pub fn get(&self, id: I) -> Option<&T> {
        self.items.get(id.index())
    }

    /// All ids in order.
    pub fn ids(&self) -> impl DoubleEndedIterator<Item = I> + ExactSizeIterator + use<I, T> {
        (0..self.items.len()).map(I::from_index)
    }

    /// All items with their ids, in order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (I, &T)> + ExactSizeIterator {
        self.items
            .iter()
            .enumerate()
            .map(|(index, item)| (I::from_index(index), item))
    }

    /// All items in order.
    pub fn values(&self) -> std::slice::Iter<'_, T> {
        self.items.iter()
    }

    /// All items in order, out of the arena.
    pub fn into_values(self) -> std::vec::IntoIter<T> {
        self.items.into_iter()
    }

    /// All items in order, for change.
    pub fn values_mut(&mut self) -> std::slice::IterMut<'_, T> {
        self.items.iter_mut()
    }
}

impl<I: Id, T> Default for Arena<I, T> {
    fn default() -> Self {
        Arena::new()
    }
}

impl<I: Id, T> Index<I> for Arena<I, T> {
    type Output = T;
    fn index(&self, id: I) -> &T {
        &self.items[id.index()]
    }
}

impl<I: Id, T> IndexMut<I> for Arena<I, T> {
    fn index_mut(&mut self, id: I) -> &mut T {
        &mut self.items[id.index()]
    }
}

impl<I: Id, T: fmt::Debug> fmt::Debug for Arena<I, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

impl<I: Id, T> FromIterator<T> for Arena<I, T> {
    fn from_iter<It: IntoIterator<Item = T>>(items: It) -> Self {
        Arena {
            items: items.into_iter().collect(),
            id: PhantomData,
        }
    }
}

/// A value per id, dense, with a default for ids never set.
#[derive(Clone, Debug)]
pub struct SideTable<I, V> {
    values: Vec<V>,
    default: V,
    id: PhantomData<fn() -> I>,
}

impl<I: Id, V: Clone> SideTable<I, V> {
    /// A table in which every id has `default`.
    pub fn new(default: V) -> Self {
        SideTable {
            values: Vec::new(),
            default,
            id: PhantomData,
        }
    }

    /// Sets the value of `id`.
    pub fn set(&mut self, id: I, value: V) {
        *self.entry(id) = value;
    }

    /// The value of `id` for change; makes room for it.
    pub fn entry(&mut self, id: I) -> &mut V {
        if self.values.len() <= id.index() {
            self.values.resize(id.index() + 1, self.default.clone());
        }
        &mut self.values[id.index()]
    }
}

impl<I: Id, V> Index<I> for SideTable<I, V> {
    type Output = V;
    fn index(&self, id: I) -> &V {
        self.values.get(id.index()).unwrap_or(&self.default)
    }
}

#[cfg(test)]
mod tests {
    use super::{Arena, SideTable};

    define_id! {
        /// For the test.
        struct TestId = "t";
    }

    #[test]
    fn ids_count_from_zero() {
        let mut arena = Arena::<TestId, &str>::new();
        let first = arena.push("a");
        assert_eq!((format!("{first}"), arena[first]), ("t0".to_owned(), "a"));
        let mut table = SideTable::<TestId, u8>::new(7);
        table.set(first, 1);
        assert_eq!((table[first], table[arena.next_id()]), (1, 7));
    }
}
