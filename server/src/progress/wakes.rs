//! Wakes of tasks by threads outside of the runtime, such as the one that writes to an embedded store. A worker of tokio that such a thread
//! wakes has another worker wake too, which finds nothing to do and sleeps again: two threads wake for each commit. A wake that comes
//! through the driver of the runtime, as the bytes of a socket do, wakes one. Must not know what the tasks do.

use std::future::Future;
use std::io::{PipeWriter, Write};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Wake, Waker};

use tokio::runtime::Handle;

/// Relay of wakes through the driver of the runtime in which it was started.
#[derive(Default)]
pub(crate) struct WakeRelay {
    waiting: Mutex<WaitingTasks>,
}

#[derive(Default)]
struct WaitingTasks {
    tasks: Vec<Waker>,
    /// Written for the first of the tasks; `None` while nobody reads: tasks are then woken directly.
    bell: Option<Arc<PipeWriter>>,
}

impl WakeRelay {
    /// Spawns a task that waits for other threads.
    pub(crate) fn spawn(self: &Arc<Self>, task: impl Future<Output = ()> + Send + 'static) {
        let waker = Arc::new(TaskWaker { relay: Arc::clone(self), task: Mutex::new(Waker::noop().clone()) });
        tokio::spawn(RelayedTask { future: Box::pin(task), shared: Waker::from(Arc::clone(&waker)), waker });
    }

    fn wake(&self, task: Waker) {
        let mut waiting = self.lock();
        let Some(bell) = waiting.bell.clone() else {
            drop(waiting);
            return task.wake();
        };
        waiting.tasks.push(task);
        let is_first = waiting.tasks.len() == 1;
        drop(waiting); // a worker that wakes takes the lock at once
        if is_first && (&*bell).write(&[0]).is_err() {
            self.wake_waiting();
        }
    }

    fn wake_waiting(&self) {
        let tasks = std::mem::take(&mut self.lock().tasks);
        tasks.into_iter().for_each(Waker::wake);
    }

    fn lock(&self) -> MutexGuard<'_, WaitingTasks> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A task whose wakes take the relay.
struct RelayedTask<F> {
    future: Pin<Box<F>>,
    waker: Arc<TaskWaker>,
    /// The same, as the future gets it.
    shared: Waker,
}

impl<F: Future> Future for RelayedTask<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        self.waker.lock().clone_from(cx.waker());
        let Self { future, shared, .. } = &mut *self;
        future.as_mut().poll(&mut Context::from_waker(shared))
    }
}

/// Waker of a task, from whichever thread.
struct TaskWaker {
    relay: Arc<WakeRelay>,
    task: Mutex<Waker>,
}

impl TaskWaker {
    fn lock(&self) -> MutexGuard<'_, Waker> {
        self.task.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Wake for TaskWaker {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        let task = self.lock().clone();
        match Handle::try_current() {
            Ok(_) => task.wake(),
            Err(_) => self.relay.wake(task),
        }
    }
}

#[cfg(unix)]
mod driver {
    //! Reader of the relay's pipe in the runtime.

    use std::future::poll_fn;
    use std::io::{self, pipe};
    use std::os::fd::OwnedFd;
    use std::pin::Pin;
    use std::sync::{Arc, Weak};

    use tokio::io::{AsyncRead, ReadBuf};
    use tokio::net::unix::pipe::Receiver;

    use super::WakeRelay;

    impl WakeRelay {
        /// Has wakes take the driver of this runtime from now on, until the runtime ends.
        pub(crate) fn start(self: &Arc<Self>) {
            let opened = pipe().and_then(|(read, write)| Ok((Receiver::from_owned_fd(OwnedFd::from(read))?, write)));
            match opened {
                Ok((bell, write)) => {
                    self.lock().bell = Some(Arc::new(write));
                    tokio::spawn(wake_waiting(Reader(Arc::downgrade(self)), bell));
                }
                Err(error) => tracing::debug!(%error, "wakes of other threads are not relayed"),
            }
        }
    }

    async fn wake_waiting(reader: Reader, mut bell: Receiver) {
        while let Ok(true) = has_rung(&mut bell).await {
            let Some(relay) = reader.0.upgrade() else { return };
            relay.wake_waiting();
        }
    }

    /// Waits for a byte; returns false if none can come any more.
    async fn has_rung(bell: &mut Receiver) -> io::Result<bool> {
        let mut bytes = [0; 64];
        let mut read = ReadBuf::new(&mut bytes);
        poll_fn(|cx| Pin::new(&mut *bell).poll_read(cx, &mut read)).await?;
        Ok(!read.filled().is_empty())
    }

    /// Reader of a relay: without one, tasks are woken directly.
    struct Reader(Weak<WakeRelay>);

    impl Drop for Reader {
        fn drop(&mut self) {
            if let Some(relay) = self.0.upgrade() {
                relay.lock().bell = None;
                relay.wake_waiting();
            }
        }
    }
}

#[cfg(not(unix))]
impl WakeRelay {
    /// Does nothing: the driver has no pipes here.
    pub(crate) fn start(self: &Arc<Self>) {}
}

#[cfg(all(test, unix))]
mod tests {
    use std::thread;

    use tokio::runtime::Builder;
    use tokio::sync::oneshot;

    use super::*;

    /// Has a task wait for a thread outside of the runtime, and returns the thread that has sent by then.
    async fn wait_for_thread(relay: &Arc<WakeRelay>) -> thread::JoinHandle<()> {
        let ((go, gone), (done, end)) = (oneshot::channel::<()>(), oneshot::channel());
        relay.spawn(async move {
            _ = gone.await;
            _ = done.send(());
        });
        tokio::task::yield_now().await; // it waits by now: there is one thread
        let sender = thread::spawn(move || _ = go.send(()));
        end.await.unwrap();
        sender
    }

    #[tokio::test]
    async fn a_task_is_woken_by_another_thread_with_and_without_the_driver() {
        let relay = Arc::new(WakeRelay::default());
        wait_for_thread(&relay).await.join().unwrap();
        relay.start();
        wait_for_thread(&relay).await.join().unwrap();
        assert!(relay.lock().bell.is_some() && relay.lock().tasks.is_empty());
    }

    #[test]
    fn a_task_of_another_runtime_is_woken_once_the_one_with_the_driver_has_ended() {
        let relay = Arc::new(WakeRelay::default());
        let runtime = || Builder::new_current_thread().enable_io().build().unwrap();
        let (first, second) = (runtime(), runtime());
        first.block_on(async { relay.start() });
        drop(first);
        second.block_on(wait_for_thread(&relay)).join().unwrap();
    }
}
