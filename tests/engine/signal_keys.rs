//! Keys of senders: a signal is delivered once for each key, whatever happens in between.

use rstest::rstest;
use superstep::checkpoint::{ExportOptions, ImportOptions, export_thread, import_thread, trust};
use superstep::graph::interrupt::SignalRequest;
use superstep::prelude::*;

use crate::pad::*;
use crate::signals::{receiver, word};
use crate::stores::Store;

fn receiving(words: usize) -> Graph {
    let node = receiver(&Tally::default(), words).receives::<crate::signals::Word>();
    chain(Builder::new().add_node(id("hear"), node), &["hear"])
}

#[rstest]
#[tokio::test]
async fn a_signal_is_delivered_once_for_each_key(#[values(Store::memory(), Store::disk())] store: Store) {
    let graph = receiving(2);
    let thread = store.thread(&graph);
    thread.invoke(start()).await.unwrap();
    let first = thread.signal_with_key(word("a"), "7").await.unwrap();
    assert_eq!(thread.send(SignalRequest::new(&word("b")).key("7")).await.unwrap(), first);
    thread.proceed().await.unwrap();
    assert_eq!(thread.signal_with_key(word("c"), "7").await.unwrap(), first, "also after it was received");
    assert!(thread.mailbox().await.unwrap().is_empty());
    let other = thread.signal_with_key(word("d"), "8").await.unwrap();
    assert_eq!(thread.mailbox().await.unwrap().len(), 1);
    thread.discard_signal(other).await.unwrap();
    assert_eq!(thread.signal_with_key(word("e"), "8").await.unwrap(), other, "also after it was discarded");
    let mut file = vec![];
    export_thread(&*store.store, &"t".into(), &ExportOptions::default(), &mut file).await.unwrap();
    let copy = Store::memory();
    import_thread(&*copy.store, &file[..], &ImportOptions::new()).await.unwrap();
    trust(&*copy.store, &"t".into()).await.unwrap();
    for thread in [thread, copy.thread(&graph)] {
        assert_eq!(thread.signal_with_key(word("f"), "7").await.unwrap(), first);
        thread.signal(word("g")).await.unwrap();
        assert_eq!(thread.proceed().await.unwrap().finished().unwrap().notes.join(","), "a,g");
    }
}

#[rstest]
#[tokio::test(flavor = "multi_thread")]
async fn one_of_several_concurrent_senders_is_first(#[values(Store::memory(), Store::disk())] store: Store) {
    let graph = receiving(1);
    store.thread(&graph).invoke(start()).await.unwrap();
    let send = |number: u32| {
        let thread = store.thread(&graph);
        tokio::spawn(async move { thread.signal_with_key(word(&number.to_string()), "7").await.unwrap() })
    };
    let senders: Vec<_> = (0..8).map(send).collect();
    let mut ids = vec![];
    for sender in senders {
        ids.push(sender.await.unwrap());
    }
    ids.dedup();
    assert_eq!((ids.len(), store.thread(&graph).mailbox().await.unwrap().len()), (1, 1));
}

#[tokio::test]
async fn a_key_that_is_too_long_is_refused() {
    let (store, graph) = (Store::memory(), receiving(1));
    store.thread(&graph).invoke(start()).await.unwrap();
    let error = store.thread(&graph).signal_with_key(word("a"), "7".repeat(5_000)).await.unwrap_err();
    insta::assert_snapshot!(format!("{error:?}"), @r"
    the key of a signal has 5000 bytes, more than the limit of 4096
     help: keep large data outside the state and store a reference to it; shorten a name
    ");
    assert!(store.thread(&graph).mailbox().await.unwrap().is_empty());
}

/// A store on a damaged disk: readable signals are kept, the others are named.
#[cfg(feature = "sled")]
#[tokio::test]
async fn a_repair_keeps_the_mailbox_and_names_what_it_lost() {
    use std::sync::Arc;

    use superstep::checkpoint::SledCheckpointer;

    use crate::repair::{close, wipe};

    let directory = tempfile::tempdir().unwrap();
    let (path, to) = (directory.path().join("store"), directory.path().join("repaired"));
    let graph = |store: &Arc<SledCheckpointer>| receiving(2).with_shared_checkpointer(Arc::clone(store) as _);
    let store = Arc::new(SledCheckpointer::open(&path).unwrap());
    let thread = graph(&store).thread("t");
    thread.invoke(start()).await.unwrap();
    let received = thread.signal_with_key(word("received words"), "7").await.unwrap();
    thread.proceed().await.unwrap();
    let lost = thread.signal(word("lost words")).await.unwrap();
    let readable = thread.signal(word("kept words")).await.unwrap();
    drop(thread);
    close(store).await;
    assert!(wipe(&path.join("db"), b"lost words") > 0);
    let report = SledCheckpointer::repair(&path, &to).await.unwrap();
    assert_eq!(report.threads[0].unreadable, [format!("signal {lost}")], "{report}");
    let store = Arc::new(SledCheckpointer::open(&to).unwrap());
    let thread = graph(&store).thread("t");
    let ids: Vec<_> = thread.mailbox().await.unwrap().into_iter().map(|sent| sent.id).collect();
    assert_eq!(ids, [readable]);
    assert_eq!(thread.signal_with_key(word("x"), "7").await.unwrap(), received, "the keys are kept too");
    let end = thread.proceed().await.unwrap().finished().unwrap();
    assert_eq!(end.notes.join(","), "received words,kept words");
}
