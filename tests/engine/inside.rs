//! A run inside a subgraph keeps its state and limits: each test is a defect that was fixed.

use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::{AtomicBool, AtomicU32};
use std::time::Duration;

use superstep::checkpoint::Checkpointer;
use superstep::prelude::*;

use crate::branches::*;

async fn per_thread(dur: Durability, store: impl Checkpointer + 'static) {
    let child = StateGraph::<D, O>::new()
        .add_node(O::A, |_: Arc<D>, _: Ctx| async move { Ok::<_, NodeError>(D::update().n(7)) })
        .add_sequence([O::A])
        .compile()
        .unwrap()
        .persistence(Persistence::PerThread);
    let g = StateGraph::<D, P>::new()
        .add_subgraph(P::Sub, child.mapped(|_: &D| D::update(), |_: &D| D::update().log(["x"])))
        .add_node(P::End, |_: Arc<D>, _: Ctx| async move { Ok::<_, NodeError>(()) })
        .add_edge(START, P::Sub)
        .add_edge(P::Sub, P::End)
        .add_conditional_edges_to(
            P::End,
            |d: &D| if d.log.len() < 3 { Target::Node(P::Sub) } else { END.into() },
            [P::Sub],
        )
        .allow(Lint::TrappedLoop)
        .compile()
        .unwrap()
        .with_checkpointer(store);
    let out = g.thread("t").durability(dur).invoke(D::update()).await.unwrap();
    assert_eq!(out.state().log.len(), 3);
}

#[tokio::test]
async fn a_threads_own_subgraph_is_called_in_a_loop_with_durability_exit() {
    per_thread(Durability::Exit, mem()).await
}

#[tokio::test]
async fn a_threads_own_subgraph_is_called_in_a_loop_with_durability_async() {
    let d = tempfile::tempdir().unwrap();
    per_thread(Durability::Async, SledCheckpointer::open(d.path().join("s")).unwrap()).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_abandoned_run_resumes_where_its_subgraph_was() {
    let runs = Arc::new(AtomicU32::new(0));
    let r = runs.clone();
    let hang = Arc::new(AtomicBool::new(true));
    let h = hang.clone();
    let child = StateGraph::<D, K>::new()
        .add_node(K::A, move |_: Arc<D>, _: Ctx| {
            r.fetch_add(1, SeqCst);
            async move { Ok::<_, NodeError>(D::update().log(["a"])) }
        })
        .add_node(K::B, move |_: Arc<D>, _: Ctx| {
            let h = h.clone();
            async move {
                if h.load(SeqCst) {
                    std::future::pending::<()>().await
                }
                Ok::<_, NodeError>(D::update().log(["b"]))
            }
        })
        .add_sequence([K::A, K::B])
        .compile()
        .unwrap();
    let g = StateGraph::<D, P>::new()
        .add_subgraph(P::Sub, child)
        .add_node(P::End, |_: Arc<D>, _: Ctx| async move { Ok::<_, NodeError>(D::update().n(1)) })
        .add_sequence([P::Sub, P::End])
        .compile()
        .unwrap()
        .with_checkpointer(mem());
    let th = g.thread("t");
    let _ = tokio::time::timeout(Duration::from_millis(200), th.invoke(D::update())).await;
    assert_eq!(runs.load(SeqCst), 1);
    hang.store(false, SeqCst);
    let out = th.proceed().await.unwrap();
    assert_eq!(out.state().log, ["a", "b"]);
    assert_eq!(runs.load(SeqCst), 1, "an acknowledged superstep of the child ran twice");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_cancelled_inside_a_subgraph_is_cancelled() {
    let child = StateGraph::<D, O>::new()
        .add_node(O::A, |_: Arc<D>, _: Ctx| async move {
            tokio::time::sleep(Duration::from_secs(5)).await;
            Ok::<_, NodeError>(())
        })
        .add_sequence([O::A])
        .compile()
        .unwrap();
    let g = StateGraph::<D, P>::new()
        .add_subgraph(P::Sub, child)
        .add_node(P::End, |_: Arc<D>, _: Ctx| async move { Ok::<_, NodeError>(D::update().n(1)) })
        .add_sequence([P::Sub, P::End])
        .compile()
        .unwrap()
        .with_checkpointer(mem());
    let token = CancellationToken::new();
    let t = token.clone();
    tokio::spawn(async move {
        tokio::time::sleep(Duration::from_millis(100)).await;
        t.cancel()
    });
    let out = g.thread("t").cancel_with(token).invoke(D::update()).await.unwrap();
    assert!(matches!(out, Outcome::Cancelled(_)));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn budgets_and_drains_apply_to_subgraphs() {
    let ticks = Arc::new(AtomicU32::new(0));
    let t = ticks.clone();
    let child = StateGraph::<D, O>::new()
        .add_node(O::A, move |_: Arc<D>, _: Ctx| {
            t.fetch_add(1, SeqCst);
            async move {
                tokio::time::sleep(Duration::from_millis(20)).await;
                Ok::<_, NodeError>(D::update().n(1))
            }
        })
        .add_edge(START, O::A)
        .add_conditional_edges_to(O::A, |d: &D| if d.n == 0 { END.into() } else { Target::Node(O::A) }, [O::A])
        .allow(Lint::TrappedLoop)
        .compile()
        .unwrap();
    let g = StateGraph::<D, P>::new()
        .add_subgraph(P::Sub, child)
        .add_node(P::End, |_: Arc<D>, _: Ctx| async move { Ok::<_, NodeError>(()) })
        .add_sequence([P::Sub, P::End])
        .compile()
        .unwrap()
        .with_checkpointer(mem());
    let r = tokio::time::timeout(
        Duration::from_secs(2),
        g.thread("t").max_wall_time(Duration::from_millis(100)).max_supersteps(5).invoke(D::update()),
    )
    .await;
    let token = CancellationToken::new();
    let tk = token.clone();
    tokio::spawn(async move {
        tokio::time::sleep(Duration::from_millis(100)).await;
        tk.cancel()
    });
    let out = g.thread("u").drain_with(token).invoke(D::update()).await.unwrap();
    assert!(matches!(out, Outcome::Drained(_)), "{out:?}");
    assert!(r.is_ok(), "budget is not seen inside a subgraph");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_with_a_command_reaches_a_subgraph_with_durability_exit() {
    let runs = Arc::new(AtomicU32::new(0));
    let r = runs.clone();
    let child = StateGraph::<D, K>::new()
        .add_node(K::A, move |_: Arc<D>, _: Ctx| {
            r.fetch_add(1, SeqCst);
            async move { Ok::<_, NodeError>(D::update().log(["a"])) }
        })
        .add_node(
            K::B,
            (|_: Arc<D>, ctx: Ctx| async move {
                let ok = ctx.interrupt(Ask { q: 1 })?;
                Ok::<_, NodeError>(D::update().ok(ok))
            })
            .asks::<Ask>(),
        )
        .add_sequence([K::A, K::B])
        .compile()
        .unwrap();
    let g = StateGraph::<D, P>::new()
        .add_subgraph(P::Sub, child)
        .add_node(P::End, |_: Arc<D>, _: Ctx| async move { Ok::<_, NodeError>(()) })
        .add_sequence([P::Sub, P::End])
        .compile()
        .unwrap()
        .with_checkpointer(mem());
    let th = g.thread("t").durability(Durability::Exit);
    th.invoke(D::update()).await.unwrap();
    let out = th.run(Request::resume::<Ask>(&true).and(Command::update(D::update().n(9)))).await.unwrap();
    assert!(matches!(out, Outcome::Finished(_)) && runs.load(SeqCst) == 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_retry_runs_subgraphs_again() {
    let runs = Arc::new(AtomicU32::new(0));
    let r = runs.clone();
    let fail = Arc::new(AtomicBool::new(true));
    let f = fail.clone();
    let child = StateGraph::<D, O>::new()
        .add_node(O::A, move |_: Arc<D>, _: Ctx| {
            r.fetch_add(1, SeqCst);
            async move { Ok::<_, NodeError>(D::update().log(["a"])) }
        })
        .add_sequence([O::A])
        .compile()
        .unwrap();
    let g = StateGraph::<D, P>::new()
        .add_subgraph(P::Sub, child)
        .add_node(P::End, move |_: Arc<D>, _: Ctx| {
            let f = f.clone();
            async move {
                if f.load(SeqCst) {
                    return Err(NodeError::permanent("x"));
                }
                Ok::<_, NodeError>(())
            }
        })
        .add_edge(START, [P::Sub, P::End])
        .set_finish_point(P::Sub)
        .set_finish_point(P::End)
        .compile()
        .unwrap()
        .with_checkpointer(mem());
    let th = g.thread("t");
    th.invoke(D::update()).await.unwrap_err();
    fail.store(false, SeqCst);
    let out = th.retry().await.unwrap();
    assert_eq!(out.state().log, ["a"]);
    assert_eq!(runs.load(SeqCst), 2, "retry() says it runs all of them again");
}
