//! Implements the contract for the public types around a store, call by call.

/// Implements [`Checkpointer`](crate::checkpoint::Checkpointer) for a tuple struct around a
/// [`Store`](super::store::Store).
macro_rules! delegate {
    ($name:ident) => {
        const _: () = {
            use std::ops::RangeInclusive;

            use $crate::checkpoint::{
                BoxFuture, CheckpointError, Checkpointer, Claim, Commit, Head, Key, Lease, Order, Receipt, Record,
                ThreadId,
            };

            type Answer<'a, T> = BoxFuture<'a, Result<T, CheckpointError>>;

            impl Checkpointer for $name {
                fn claim(&self, thread: &ThreadId, claim: Claim) -> Answer<'_, Lease> {
                    self.0.claim(thread, claim)
                }

                fn commit(&self, commit: Commit) -> Receipt {
                    self.0.commit(commit)
                }

                fn post(&self, thread: &ThreadId, records: Vec<Record>) -> Receipt {
                    self.0.post(thread, records)
                }

                fn head(&self, thread: &ThreadId) -> Answer<'_, Option<Head>> {
                    self.0.head(thread)
                }

                fn get(&self, thread: &ThreadId, keys: Vec<Key>) -> Answer<'_, Vec<Option<Vec<u8>>>> {
                    self.0.get(thread, keys)
                }

                fn scan(
                    &self,
                    thread: &ThreadId,
                    range: RangeInclusive<Key>,
                    order: Order,
                    limit: usize,
                ) -> Answer<'_, Vec<Record>> {
                    self.0.scan(thread, range, order, limit)
                }

                fn threads(&self, after: Option<&ThreadId>, limit: usize) -> Answer<'_, Vec<ThreadId>> {
                    self.0.threads(after, limit)
                }

                fn delete_thread(&self, lease: &Lease) -> Answer<'_, ()> {
                    self.0.delete_thread(lease)
                }

                fn is_claimed(&self, thread: &ThreadId) -> bool {
                    self.0.is_claimed(thread)
                }

                fn is_foreign(&self) -> bool {
                    self.0.is_foreign()
                }

                fn trust(&self) -> Result<(), CheckpointError> {
                    self.0.trust()
                }
            }
        };
    };
}

pub(in crate::checkpoint) use delegate;
