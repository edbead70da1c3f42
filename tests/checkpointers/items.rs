//! Items beside threads, where stores are copied, written anew and opened again; and random writes of them.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use proptest::prelude::*;
use rstest::rstest;
use superstep::checkpoint::{
    CheckpointError, Checkpointer, ExpectedItem, FjallCheckpointer, ItemKey, ItemScan, ItemWrite, SledCheckpointer,
    StoreKind, copy_threads,
};

use crate::copy::OPENERS;

fn item(key: &str) -> ItemKey {
    ItemKey::new("numbers", key)
}

#[rstest]
#[tokio::test]
async fn items_are_copied_once(#[values(0, 1, 2)] from: usize, #[values(0, 1, 2)] to: usize) {
    let directory = tempfile::tempdir().unwrap();
    let from = OPENERS[from](&directory.path().join("from"));
    let to = OPENERS[to](&directory.path().join("to"));
    let put = |nth: u32| ItemWrite::put(item(&format!("{nth:04}")), nth.to_le_bytes());
    from.write_items((0..600).map(put).collect()).await.unwrap();
    for _ in 0..2 {
        assert_eq!(copy_threads(&*from, &*to).await.unwrap().items, 600);
    }
    assert_eq!(to.scan_items(&ItemScan::all()).await.unwrap(), from.scan_items(&ItemScan::all()).await.unwrap());
    to.write_items(vec![put(1000), ItemWrite::put(item("0007"), "other")]).await.unwrap();
    let error = copy_threads(&*from, &*to).await.unwrap_err();
    assert!(matches!(&error, CheckpointError::ItemConflict { item: found } if *found == item("0007")), "{error}");
}

/// The ways in which a store is written anew.
#[derive(Clone, Copy, Debug)]
enum Rewrite {
    Compact,
    Repair,
    Backup,
}

#[rstest]
#[tokio::test]
async fn items_stay_as_they_are_in_a_store_that_is_written_anew(
    #[values(StoreKind::Sled, StoreKind::Fjall)] kind: StoreKind,
    #[values(Rewrite::Compact, Rewrite::Repair, Rewrite::Backup)] rewrite: Rewrite,
) {
    let directory = tempfile::tempdir().unwrap();
    let (path, new) = (directory.path().join("store"), directory.path().join("new"));
    let store = kind.open(&path).unwrap();
    let large = vec![3; 100_000];
    let put = |key: &str, value: &[u8]| ItemWrite::put(item(key), value);
    store.write_items(vec![put("kept", b"1"), put("changed", &large), put("gone", b"3")]).await.unwrap();
    store.write_items(vec![put("changed", b"2"), ItemWrite::delete(item("gone"))]).await.unwrap();
    store.write_items(vec![put("large", &large)]).await.unwrap();
    let before = store.scan_items(&ItemScan::all()).await.unwrap();
    assert_eq!(before.len(), 3);
    if let Rewrite::Backup = rewrite {
        back_up(&*store, kind, &new).await;
    }
    drop(store);
    let there = match rewrite {
        Rewrite::Compact => {
            kind.compact(&path).unwrap();
            path
        }
        Rewrite::Repair => {
            let report = kind.repair(&path, &new).await.unwrap();
            assert!(report.is_whole() && report.items == 3, "{report}");
            new
        }
        Rewrite::Backup => new,
    };
    let store = kind.open(&there).unwrap();
    assert_eq!(store.scan_items(&ItemScan::all()).await.unwrap(), before);
}

async fn back_up(store: &dyn Checkpointer, kind: StoreKind, path: &Path) {
    match kind {
        StoreKind::Fjall => FjallCheckpointer::backup(store, path).await.unwrap(),
        _ => SledCheckpointer::backup(store, path).await.unwrap(),
    };
}

/// One write of a random program: key, length of the value or none, and what is expected.
type Step = (u8, Option<usize>, u8);

fn steps() -> impl Strategy<Value = Vec<Vec<Step>>> {
    let length = prop_oneof![3 => Just(None), 5 => (0_usize..9).prop_map(Some), 1 => Just(Some(70_000))];
    let writes = prop::collection::vec((0_u8..6, length, 0_u8..4), 1..5);
    prop::collection::vec(writes, 1..12)
}

/// Returns the writes of a step, with what a model of the items makes of them.
fn step(
    model: &BTreeMap<ItemKey, Vec<u8>>,
    nth: usize,
    step: &[Step],
) -> (Vec<ItemWrite>, Option<BTreeMap<ItemKey, Vec<u8>>>) {
    let (mut writes, mut after) = (BTreeMap::new(), Some(model.clone()));
    for (key, length, expected) in step {
        let key = ItemKey::new(["a", "b"][usize::from(key % 2)], format!("{}", key / 2));
        let found = model.get(&key).cloned();
        let expected = match expected {
            0 => ExpectedItem::Absent,
            1 => found.clone().map_or(ExpectedItem::Absent, ExpectedItem::Value),
            2 => ExpectedItem::Value(vec![nth as u8]),
            _ => ExpectedItem::Any,
        };
        let value = length.map(|length| vec![nth as u8; length]);
        writes.insert(key.clone(), ItemWrite { key, value, expected });
    }
    let writes: Vec<ItemWrite> = writes.into_values().collect();
    let fits = writes.iter().all(|write| write.expected.fits(model.get(&write.key).map(Vec::as_slice)));
    for ItemWrite { key, value, .. } in &writes {
        after.as_mut().map(|after| match value {
            Some(value) => after.insert(key.clone(), value.clone()),
            None => after.remove(key),
        });
    }
    (writes, after.filter(|_| fits))
}

async fn follow_the_model(store: Arc<dyn Checkpointer>, steps: &[Vec<Step>]) -> BTreeMap<ItemKey, Vec<u8>> {
    let mut model = BTreeMap::new();
    for (nth, writes) in steps.iter().enumerate() {
        let (writes, after) = step(&model, nth, writes);
        let written = store.write_items(writes).await;
        match after {
            Some(after) => {
                written.unwrap();
                model = after;
            }
            None => assert!(matches!(written, Err(CheckpointError::ItemConflict { .. })), "{written:?}"),
        }
        let all: BTreeMap<_, _> = store.scan_items(&ItemScan::all()).await.unwrap().into_iter().collect();
        assert!(all == model, "step {nth}: {:?} instead of {:?}", all.keys(), model.keys());
        let keys: Vec<ItemKey> = model.keys().cloned().collect();
        let values: Vec<_> = model.values().cloned().map(Some).collect();
        assert!(store.get_items(keys).await.unwrap() == values, "step {nth}");
    }
    model
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]
    #[test]
    fn items_are_as_their_writes_leave_them(steps in steps(), opener in 0_usize..3) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let directory = tempfile::tempdir().unwrap();
            let open = OPENERS[opener];
            let model = follow_the_model(open(directory.path()), &steps).await;
            let store = open(directory.path());
            if opener < 2 {
                let all: BTreeMap<_, _> = store.scan_items(&ItemScan::all()).await.unwrap().into_iter().collect();
                assert!(all == model, "opened again");
            }
        });
    }
}
