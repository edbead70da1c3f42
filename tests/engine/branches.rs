//! State that belongs to one subgraph or fork: each test is a defect that was fixed.

use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::{AtomicBool, AtomicU32};
use superstep::prelude::*;

#[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct D {
    #[channel(append)]
    pub(crate) log: Vec<String>,
    pub(crate) ok: bool,
    pub(crate) n: u32,
}

#[derive(NodeId)]
pub(crate) enum P {
    Sub,
    End,
}

#[derive(NodeId)]
pub(crate) enum K {
    A,
    B,
}

#[derive(NodeId)]
pub(crate) enum O {
    A,
}

#[derive(NodeId)]
pub(crate) enum W {
    Src,
    Dst,
}

#[derive(Serialize, Deserialize)]
pub(crate) struct Ask {
    pub(crate) q: u32,
}
impl Interrupt for Ask {
    type Resume = bool;
    const NAME: &'static str = "ask";
}

#[derive(Serialize, Deserialize)]
pub(crate) struct Two {
    pub(crate) q: u32,
}
impl Interrupt for Two {
    type Resume = bool;
    const NAME: &'static str = "two";
}

pub(crate) fn mem() -> MemoryCheckpointer {
    MemoryCheckpointer::new()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_retry_that_writes_less_keeps_nothing_of_the_first_try() {
    let tries = Arc::new(AtomicU32::new(0));
    let t = tries.clone();
    let fails = tries.clone();
    let g = StateGraph::<D, K>::new()
        .add_node(K::A, move |_: Arc<D>, _: Ctx| {
            let t = t.clone();
            async move {
                let first = t.load(SeqCst) == 0;
                Ok::<_, NodeError>(if first { D::update().log(["a1"]).log(["a2"]) } else { D::update().log(["a1"]) })
            }
        })
        .add_node(K::B, move |_: Arc<D>, _: Ctx| {
            let t = fails.clone();
            async move {
                if t.fetch_add(1, SeqCst) == 0 {
                    return Err(NodeError::permanent("first"));
                }
                Ok::<_, NodeError>(D::update().log(["b1"]))
            }
        })
        .add_edge(START, [K::A, K::B])
        .set_finish_point(K::A)
        .set_finish_point(K::B)
        .compile()
        .unwrap()
        .with_checkpointer(mem());
    let th = g.thread("t");
    th.invoke(D::update()).await.unwrap_err();
    let out = th.retry().await.unwrap();
    assert_eq!(out.state().log, ["a1", "b1"]);
    let fresh = g.thread("t");
    fresh.state().await.expect("thread readable after retry");
}

pub(crate) fn asking() -> CompiledGraph<D, P> {
    let child = StateGraph::<D, K>::new()
        .add_node(
            K::A,
            (|_: Arc<D>, ctx: Ctx| async move {
                let ok = ctx.interrupt(Ask { q: 1 })?;
                Ok::<_, NodeError>(D::update().ok(ok).log([format!("asked {ok}")]))
            })
            .asks::<Ask>(),
        )
        .add_node(K::B, |_: Arc<D>, _: Ctx| async move { Ok::<_, NodeError>(D::update().log(["b"])) })
        .add_sequence([K::A, K::B])
        .compile()
        .unwrap();
    StateGraph::<D, P>::new()
        .add_subgraph(P::Sub, child)
        .add_node(P::End, |_: Arc<D>, _: Ctx| async move { Ok::<_, NodeError>(D::update().n(1)) })
        .add_sequence([P::Sub, P::End])
        .compile()
        .unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_checkpoint_answered_twice_runs_its_subgraph_twice() {
    let g = asking().with_checkpointer(mem());
    let th = g.thread("t");
    th.invoke(D::update()).await.unwrap();
    let x = th.state().await.unwrap().unwrap().id;
    // leave x unfinished: start something else
    th.clone().discard_pending().invoke(D::update()).await.unwrap();
    let yes = th.clone().at(x).resume::<Ask>(true).await.unwrap();
    assert!(yes.state().ok);
    let no = th.clone().at(x).resume::<Ask>(false).await;
    let no = no.unwrap();
    assert!(!no.state().ok, "answered false, got the other fork's result");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn forks_of_one_checkpoint_have_separate_answers() {
    let g = StateGraph::<D, O>::new()
        .add_node(
            O::A,
            (|_: Arc<D>, ctx: Ctx| async move {
                let a = ctx.interrupt(Ask { q: 1 })?;
                let b = ctx.interrupt(Two { q: 2 })?;
                Ok::<_, NodeError>(D::update().log([format!("{a} {b}")]))
            })
            .asks::<Ask>()
            .asks::<Two>(),
        )
        .add_sequence([O::A])
        .compile()
        .unwrap();
    let g = g.with_checkpointer(mem());
    let th = g.thread("t");
    th.invoke(D::update()).await.unwrap();
    let x = th.state().await.unwrap().unwrap().id;
    th.clone().discard_pending().invoke(D::update()).await.unwrap();
    th.clone().at(x).resume::<Ask>(true).await.unwrap();
    let f1 = th.state().await.unwrap().unwrap().id;
    th.clone().at(x).resume::<Ask>(false).await.unwrap();
    let out = th.clone().at(f1).resume::<Two>(true).await.unwrap();
    assert_eq!(out.state().log, ["true true"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_replay_inside_a_subgraph_adds_each_entry_once() {
    let child = StateGraph::<D, K>::new()
        .add_node(K::A, |_: Arc<D>, _: Ctx| async move { Ok::<_, NodeError>(D::update().log(["a"])) })
        .add_node(K::B, |_: Arc<D>, _: Ctx| async move { Ok::<_, NodeError>(D::update().log(["b"])) })
        .add_sequence([K::A, K::B])
        .compile()
        .unwrap();
    let kid = child.clone();
    let g = StateGraph::<D, P>::new()
        .add_subgraph(P::Sub, child)
        .add_node(P::End, |_: Arc<D>, _: Ctx| async move { Ok::<_, NodeError>(D::update().n(1)) })
        .add_sequence([P::Sub, P::End])
        .interrupt_before([P::End])
        .compile()
        .unwrap()
        .with_checkpointer(mem());
    let th = g.thread("t");
    th.invoke(D::update()).await.unwrap();
    let hist = th.history().await.unwrap().metadata_only().await.unwrap();
    for id in 1..12 {
        let id = CheckpointId(id);
        if hist.iter().any(|h| h.id == id) {
            continue;
        }
        let s = th.subgraph(&kid, ["Sub"]).at(id).state().await;
        let Ok(Some(s)) = s else { continue };
        if s.next.len() == 1 && s.values.log.is_empty() && s.step >= 0 {
            let out = th.clone().at(id).proceed().await.unwrap();
            assert_eq!(out.state().log, ["a", "b"]);
            return;
        }
    }
    panic!("no child checkpoint found");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cached_node_routes_once() {
    let g = StateGraph::<D, W>::new()
        .add_node(W::Src, (|_: Arc<D>, _: Ctx| async move { Ok::<_, NodeError>(()) }).cache(CachePolicy::default()))
        .add_worker(Worker::new(W::Dst), |n: Arc<u32>, _: Ctx| async move {
            Ok::<_, NodeError>(D::update().log([format!("w{n}")]))
        })
        .add_edge(START, W::Src)
        .add_conditional_edges_to(
            W::Src,
            |_: &D| Worker::<W, u32>::new(W::Dst).each([1u32, 2]),
            Worker::<W, u32>::new(W::Dst),
        );
    let g = g.compile().unwrap().with_cache(Arc::new(superstep::graph::MemoryCache::default()));
    let one = g.invoke(D::update()).await.unwrap().state().clone();
    let two = g.invoke(D::update()).await.unwrap().state().clone();
    assert_eq!(one.log, two.log);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bulk_update_reads_its_own_checkpoints_with_any_durability() {
    let g = asking().with_checkpointer(mem());
    let th = g.thread("t").durability(Durability::Exit);
    th.bulk_update([
        vec![StateUpdate::new(D::update().n(1)).as_start()],
        vec![StateUpdate::new(D::update().n(2)).as_node(P::Sub)],
    ])
    .await
    .unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_survives_a_panic_of_a_router() {
    let bad = Arc::new(AtomicBool::new(true));
    let b = bad.clone();
    let g = StateGraph::<D, K>::new()
        .add_node(
            K::A,
            (|_: Arc<D>, ctx: Ctx| async move {
                let ok = ctx.interrupt(Ask { q: 1 })?;
                Ok::<_, NodeError>(D::update().ok(ok))
            })
            .asks::<Ask>(),
        )
        .add_node(K::B, |_: Arc<D>, _: Ctx| async move { Ok::<_, NodeError>(()) })
        .add_edge(START, K::A)
        .add_conditional_edges_to(
            K::A,
            move |_: &D| {
                if b.load(SeqCst) {
                    panic!("bug")
                }
                Target::Node(K::B)
            },
            [K::B],
        )
        .compile()
        .unwrap()
        .with_checkpointer(mem());
    let th = g.thread("t");
    th.invoke(D::update()).await.unwrap();
    th.resume::<Ask>(true).await.unwrap_err();
    bad.store(false, SeqCst);
    let out = th.proceed().await.unwrap();
    assert!(matches!(out, Outcome::Finished(_)), "the person's answer is gone: asked again");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_superstep_run_again_keeps_nothing_of_the_first_try() {
    let tries = Arc::new(AtomicU32::new(0));
    let (t, f) = (tries.clone(), tries.clone());
    let g = StateGraph::<D, K>::new()
        .add_node(K::A, move |_: Arc<D>, _: Ctx| {
            let t = t.clone();
            async move {
                Ok::<_, NodeError>(if t.load(SeqCst) == 0 {
                    D::update().log(["a1"]).log(["a2"])
                } else {
                    D::update().log(["a1"])
                })
            }
        })
        .add_node(K::B, move |_: Arc<D>, _: Ctx| {
            let t = f.clone();
            async move {
                if t.fetch_add(1, SeqCst) == 0 {
                    return Err(NodeError::permanent("first"));
                }
                Ok::<_, NodeError>(D::update().log(["b1"]))
            }
        })
        .add_edge(START, [K::A, K::B])
        .set_finish_point(K::A)
        .set_finish_point(K::B)
        .compile()
        .unwrap()
        .with_checkpointer(mem());
    let th = g.thread("t");
    th.update(StateUpdate::new(D::update().n(1)).as_start()).await.unwrap();
    let head = th.state().await.unwrap().unwrap().id;
    th.proceed().await.unwrap_err();
    th.clone().at(head).proceed().await.unwrap();
    g.thread("t").state().await.expect("readable");
}

#[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
struct R {
    #[channel(reduce = boom)]
    v: u32,
}

fn boom(_: &mut u32, _: u32) {
    panic!("reducer")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_panic_of_a_reducer_fails_the_run_only() {
    let g = StateGraph::<R, O>::new()
        .add_node(O::A, |_: Arc<R>, _: Ctx| async move { Ok::<_, NodeError>(R::update().v(1)) })
        .add_sequence([O::A])
        .compile()
        .unwrap()
        .with_checkpointer(mem());
    let th = g.thread("t");
    let t2 = th.clone();
    let r = tokio::spawn(async move { t2.invoke(R::update()).await.map(|_| ()).map_err(|e| e.to_string()) }).await;
    assert!(r.is_ok(), "a panic of a reducer unwinds out of invoke");
}

#[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
struct V {
    #[channel(add)]
    v: u8,
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_sum_that_overflows_is_refused() {
    let g = StateGraph::<V, O>::new()
        .add_node(O::A, |_: Arc<V>, _: Ctx| async move { Ok::<_, NodeError>(V::update().v(200)) })
        .add_sequence([O::A])
        .compile()
        .unwrap()
        .with_checkpointer(mem());
    let th = g.thread("t");
    th.invoke(V::update()).await.unwrap();
    assert_eq!(
        th.invoke(V::update()).await.unwrap_err().to_string(),
        "channel `v` refused a write of `A` in superstep 4: it would overflow: `u8` cannot hold the sum"
    );
    assert_eq!(th.state().await.unwrap().unwrap().values.v, 200);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn forks_of_a_checkpoint_with_a_subgraph_continue_separately() {
    let child = StateGraph::<D, K>::new()
        .add_node(
            K::A,
            (|_: Arc<D>, ctx: Ctx| async move {
                let ok = ctx.interrupt(Ask { q: 1 })?;
                Ok::<_, NodeError>(D::update().log([format!("{ok}")]))
            })
            .asks::<Ask>(),
        )
        .add_node(
            K::B,
            (|_: Arc<D>, ctx: Ctx| async move {
                ctx.interrupt(Two { q: 1 })?;
                Ok::<_, NodeError>(D::update().log(["b"]))
            })
            .asks::<Two>(),
        )
        .add_sequence([K::A, K::B])
        .compile()
        .unwrap();
    let g = StateGraph::<D, P>::new()
        .add_subgraph(P::Sub, child.mapped(|_: &D| D::update(), |c: &D| D::update().log(c.log.clone())))
        .add_node(P::End, |_: Arc<D>, _: Ctx| async move { Ok::<_, NodeError>(D::update().n(1)) })
        .add_sequence([P::Sub, P::End])
        .compile()
        .unwrap()
        .with_checkpointer(mem());
    let th = g.thread("t");
    th.invoke(D::update()).await.unwrap();
    let x = th.state().await.unwrap().unwrap().id;
    th.clone().discard_pending().invoke(D::update()).await.unwrap();
    th.clone().at(x).resume::<Ask>(true).await.unwrap();
    let f1 = th.state().await.unwrap().unwrap().id;
    th.clone().at(x).resume::<Ask>(false).await.unwrap();
    let second = th.resume::<Two>(true).await.unwrap();
    assert_eq!(second.state().log, ["false", "b"]);
    let first = th.clone().at(f1).resume::<Two>(true).await.unwrap();
    assert_eq!(first.state().log, ["true", "b"]);
}
