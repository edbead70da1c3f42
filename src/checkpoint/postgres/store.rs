//! [`PostgresCheckpointer`]: the contract over the parts of this folder, and how a store is opened. Must not know statements.

use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use tokio::sync::oneshot;

use super::address::{Address, Schema};
use super::fault::{Fault, Patience};
use super::handle::{Background, Shared};
use super::leases::{LeaseBook, ServerClock};
use super::listing::{self, DueNames};
use super::pool::Pool;
use super::renewal::renew_all;
use super::requests::Request;
use super::schema;
use super::session::{NO_ANSWER, Server, Session};
use super::writer::Writer;
use super::{items, password, reads, summaries, workers};
use crate::checkpoint::{
    BoxFuture, CheckpointError, Checkpointer, Claim, Commit, DueQuery, DueThreads, Item, ItemKey, ItemScan, ItemWrite,
    Key, Lease, LeaseOwner, ListedThread, Order, OwnerRequest, Receipt, Record, StoreWatch, StoreWorker, SummaryReader,
    ThreadHead, ThreadId, ThreadQuery, WorkerGuard,
};

type Result<T> = std::result::Result<T, CheckpointError>;

/// The longest wait for a server that is starting.
const START: Duration = Duration::from_secs(5);

/// Checkpointer for several machines: threads in PostgreSQL 13 or newer, which any number of processes share.
///
/// A thread is held by a lease that ends with a time, by the clock of the server. It is renewed in the background, on a thread of its
/// own, for as long as it is held, and its loss is reported to the holder. A commit is one round trip, durable when it is
/// acknowledged (`synchronous_commit = on`), and refused if another process has claimed the thread. While the server cannot be
/// reached, calls wait up to 30 seconds, or until the lease ends, and then fail with [`CheckpointError::Outage`]; nothing that was
/// acknowledged is lost, and nothing is written twice.
///
/// Behind PgBouncer, `pool_mode = session` is needed. LangGraph: `PostgresSaver`.
///
/// ```no_run
/// # async fn f() -> Result<(), superstep::checkpoint::CheckpointError> {
/// use superstep::checkpoint::PostgresCheckpointer;
///
/// let store = PostgresCheckpointer::connect("postgres://ann@db.example/team?schema=flows").await?;
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct PostgresCheckpointer {
    shared: Arc<Shared>,
    /// The address of a store that is only read.
    read_only: Option<PathBuf>,
}

/// Settings of a connection to a store; those of the address unless they are set here.
#[derive(Clone)]
#[must_use = "a builder does nothing until `connect`"]
pub struct PostgresBuilder {
    address: Result<Address>,
    owner: LeaseOwner,
}

impl fmt::Debug for PostgresBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PostgresBuilder").field("address", &self.address).field("owner", &self.owner).finish()
    }
}

impl PostgresBuilder {
    /// Sets the schema in which the tables are; `superstep` unless set.
    pub fn schema(mut self, name: &str) -> Self {
        self.set(|address| Schema::new(name).map(|schema| address.schema = schema));
        self
    }

    /// Sets the time after which others may claim a thread whose holder does not renew its lease; 15 seconds unless set.
    pub fn lease(mut self, time: Duration) -> Self {
        self.set(|address| Address::check_lease(time).map(|time| address.lease = time));
        self
    }

    /// Sets the maximum number of connections that read and write, 16 unless set; one more renews leases.
    pub fn pool(mut self, connections: usize) -> Self {
        self.set(|address| {
            address.pool = connections.max(1);
            Ok(())
        });
        self
    }

    /// Sets the name under which leases are held; that of the program unless set.
    pub fn owner(mut self, name: impl Into<String>) -> Self {
        self.owner = self.owner.named(name);
        self
    }

    fn set(&mut self, change: impl FnOnce(&mut Address) -> Result<()>) {
        if let Ok(address) = &mut self.address
            && let Err(error) = change(address)
        {
            self.address = Err(error);
        }
    }

    /// Connects, and makes the schema if it is not there.
    ///
    /// # Errors
    /// [`CheckpointError::InvalidAddress`] for an address that cannot be understood, [`CheckpointError::Outage`] if the server cannot
    /// be reached, [`CheckpointError::RefusedStore`] if it refuses the login or lacks a setting,
    /// [`CheckpointError::Format`] for a schema of a newer release.
    pub async fn connect(self) -> Result<PostgresCheckpointer> {
        self.open(false).await
    }

    /// Connects to a store in order to read it: a role that may only `SELECT` is enough. Writes are refused with
    /// [`CheckpointError::NotWritable`].
    ///
    /// # Errors
    /// As [`connect`](Self::connect); [`CheckpointError::RefusedStore`] if there is no store.
    pub async fn open_read_only(self) -> Result<PostgresCheckpointer> {
        self.open(true).await
    }

    /// Returns the SQL that makes the store, or moves it to the newest version, for a role that may do so; empty if nothing is to do.
    ///
    /// # Errors
    /// As [`connect`](Self::connect).
    pub async fn migration(self) -> Result<String> {
        let address = self.completed()?;
        let (background, server) = (Background::start()?, Arc::new(Server::new(&address, true)?));
        let read = background.run(async move {
            let found = async {
                let found = schema::version(&server.connect().await?, &address.schema).await?;
                schema::check_version(found, &server.shown).map(|()| found)
            };
            let found = found.await.map_err(|fault| outage(fault, &server.shown))?;
            Ok(schema::migration(&address.schema, found))
        });
        let sql = read.await;
        background.stop();
        sql
    }

    async fn open(self, is_read_only: bool) -> Result<PostgresCheckpointer> {
        let owner = self.owner.clone();
        let address = self.completed()?;
        let server = Arc::new(Server::new(&address, is_read_only)?);
        let background = Background::start()?;
        let writer = Arc::new(Writer {
            pool: Pool::new(Arc::clone(&server), address.pool),
            book: LeaseBook::new(address.lease),
            handle: RandomState::new().hash_one("handle").cast_signed(),
            owner,
            hints: Arc::default(),
            clock: ServerClock::default(),
            refreshing: Arc::default(),
        });
        let read_only = is_read_only.then(|| PathBuf::from(&server.shown));
        let shared = Shared { writer: Arc::clone(&writer), requests: Arc::default(), background };
        // From here on the store ends its thread itself, whatever happens.
        let store = PostgresCheckpointer { shared: Arc::new(shared), read_only };
        let background = &store.shared.background;
        writer.pool.adopt(background.run(async move { prepare(&server, &address, is_read_only).await }).await?);
        store.read(|writer| async move { listing::read_clock(&writer).await }).await?;
        if !is_read_only {
            background.runtime.spawn(renew_all(writer));
        }
        Ok(store)
    }

    fn completed(self) -> Result<Address> {
        let mut address = self.address?;
        password::complete(&mut address);
        Ok(address)
    }
}

/// Returns an id by which a write is known if its answer is lost.
fn random_id() -> [u8; 16] {
    let random = RandomState::new();
    let id = [random.hash_one(0), random.hash_one(1)].map(u64::to_le_bytes);
    std::array::from_fn(|at| id[at / 8][at % 8])
}

/// Makes the first session, checks the server, and makes the schema. Waits only for a server that is there and not ready: it is
/// starting, or ends connections that it has accepted.
async fn prepare(server: &Server, address: &Address, is_read_only: bool) -> Result<Session> {
    let mut patience = Patience::new(START);
    loop {
        match attempt(server, address, is_read_only).await {
            Err(Fault::Lost(reason)) if patience.has_begun() || !is_away(&reason) => {
                patience.wait(&server.shown, reason).await?;
            }
            prepared => return prepared.map_err(|fault| outage(fault, &server.shown)),
        }
    }
}

fn is_away(reason: &str) -> bool {
    reason.starts_with("error connecting") || reason == NO_ANSWER
}

async fn attempt(server: &Server, address: &Address, is_read_only: bool) -> std::result::Result<Session, Fault> {
    let (schema, shown) = (&address.schema, server.shown.as_str());
    let session = server.connect().await?;
    schema::check_server(&session, address, shown).await?;
    match is_read_only {
        true => schema::check_existing(&session, schema, shown).await?,
        false => schema::migrate(&session, schema, shown).await?,
    }
    Ok(session)
}

fn outage(fault: Fault, shown: &str) -> CheckpointError {
    match fault {
        Fault::Lost(reason) | Fault::Conflict(reason) => CheckpointError::Outage { store: shown.into(), reason },
        Fault::Refused(error) => error,
    }
}

impl PostgresCheckpointer {
    /// Connects to the store at `postgres://USER:PASSWORD@HOST:PORT/DATABASE?schema=NAME`, and makes its tables if they are not there.
    ///
    /// All parts may be left out, apart from the start. The password is better given as `PGPASSWORD` or in `~/.pgpass`. Parameters:
    /// `schema` (`superstep`), `sslmode` (as in libpq; `prefer`), `sslrootcert` (a file; for `verify-ca` and `verify-full`, the
    /// system's certificates unless set), `pool` (16), `lease` (`15s`), `host` (the folder of a unix socket), and `unsafe=1`, which
    /// accepts a server with `fsync = off`.
    ///
    /// # Errors
    /// As [`PostgresBuilder::connect`].
    pub async fn connect(address: &str) -> Result<Self> {
        Self::builder(address).connect().await
    }

    /// Connects to the store at `address` in order to read it.
    ///
    /// # Errors
    /// As [`PostgresBuilder::open_read_only`].
    pub async fn open_read_only(address: &str) -> Result<Self> {
        Self::builder(address).open_read_only().await
    }

    /// Returns the settings of the store at `address`.
    pub fn builder(address: &str) -> PostgresBuilder {
        PostgresBuilder { address: Address::parse(address), owner: LeaseOwner::this_process() }
    }

    /// Finishes what is queued and releases all leases.
    ///
    /// # Errors
    /// If the server cannot be reached.
    pub async fn close(self) -> Result<()> {
        let shared = Arc::clone(&self.shared);
        self.shared.background.run(async move { shared.end().await }).await
    }

    fn check_writable(&self) -> Result<()> {
        let path = self.read_only.clone();
        path.map_or(Ok(()), |path| {
            Err(CheckpointError::NotWritable { path, reason: "it was opened to be read only".into() })
        })
    }

    /// Reads on the background thread.
    fn read<T: Send + 'static, F>(&self, read: impl FnOnce(Arc<Writer>) -> F) -> BoxFuture<'_, Result<T>>
    where
        F: Future<Output = Result<T>> + Send + 'static,
    {
        Box::pin(self.shared.background.run(read(Arc::clone(&self.shared.writer))))
    }
}

impl Drop for PostgresCheckpointer {
    fn drop(&mut self) {
        self.shared.end_now();
    }
}

impl Checkpointer for PostgresCheckpointer {
    fn claim(&self, thread: &ThreadId, claim: Claim) -> BoxFuture<'_, Result<Lease>> {
        let (checked, thread) = (self.check_writable(), thread.clone());
        Box::pin(async move {
            checked?;
            Arc::clone(&self.shared).claim(thread, claim).await
        })
    }

    fn commit(&self, commit: Commit) -> Receipt {
        self.check_writable().map_or_else(|error| Receipt::ready(Err(error)), |()| self.shared.commit(commit))
    }

    fn post(&self, thread: &ThreadId, records: Vec<Record>) -> Receipt {
        self.check_writable()
            .map_or_else(|error| Receipt::ready(Err(error)), |()| self.shared.post(thread, records, random_id(), false))
    }

    fn post_new<'a>(&'a self, thread: &'a ThreadId, records: Vec<Record>) -> BoxFuture<'a, Result<()>> {
        let checked = self.check_writable();
        Box::pin(async move {
            checked?;
            self.shared.post(thread, records, random_id(), true).await
        })
    }

    fn head(&self, thread: &ThreadId) -> BoxFuture<'_, Result<Option<ThreadHead>>> {
        let claimed = self.shared.writer.book.live_ticket(thread).and_then(|ticket| ticket.take_head());
        if let Some(head) = claimed {
            return Box::pin(std::future::ready(Ok(head)));
        }
        let thread = thread.clone();
        self.read(|writer| async move { reads::head(&writer.pool, &thread).await })
    }

    fn get(&self, thread: &ThreadId, keys: Vec<Key>) -> BoxFuture<'_, Result<Vec<Option<Vec<u8>>>>> {
        let thread = thread.clone();
        self.read(|writer| async move { reads::get(&writer.pool, &thread, &keys).await })
    }

    fn scan(
        &self,
        thread: &ThreadId,
        range: RangeInclusive<Key>,
        order: Order,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<Record>>> {
        let thread = thread.clone();
        self.read(move |writer| async move { reads::scan(&writer.pool, &thread, &range, order, limit).await })
    }

    fn threads(&self, after: Option<&ThreadId>, limit: usize) -> BoxFuture<'_, Result<Vec<ThreadId>>> {
        let after = after.cloned();
        self.read(move |writer| async move { reads::threads(&writer.pool, after.as_ref(), limit).await })
    }

    fn delete_thread(&self, lease: &Lease) -> BoxFuture<'_, Result<()>> {
        let thread = lease.thread().clone();
        let ticket = self.check_writable().and_then(|()| self.shared.writer.book.find(&thread, lease.epoch()));
        Box::pin(async move {
            let ticket = ticket?;
            ticket.take_head();
            self.shared.ask(&thread, |reply| Request::Delete { ticket, reply }).await
        })
    }

    fn owner(&self, thread: &ThreadId) -> BoxFuture<'_, Result<Option<Arc<LeaseOwner>>>> {
        let thread = thread.clone();
        Box::pin(async move {
            self.shared.settle(&thread).await?;
            self.read(|writer| async move { reads::owner(&writer.pool, &thread).await }).await
        })
    }

    fn join_workers(&self, graphs: Vec<String>, version: String) -> BoxFuture<'_, Result<WorkerGuard>> {
        if let Err(error) = self.check_writable() {
            return Box::pin(async { Err(error) });
        }
        self.read(move |writer| workers::join(writer, graphs, version))
    }

    fn workers(&self) -> BoxFuture<'_, Result<Vec<StoreWorker>>> {
        self.read(|writer| async move { workers::list(&writer).await })
    }

    fn send(&self, thread: &ThreadId, request: OwnerRequest) -> BoxFuture<'_, Result<Option<Arc<LeaseOwner>>>> {
        if let Err(error) = self.check_writable() {
            return Box::pin(async { Err(error) });
        }
        if let Some(ticket) = self.shared.writer.book.live_ticket(thread) {
            ticket.deliver(request);
        }
        let thread = thread.clone();
        self.read(move |writer| async move {
            let pool = &writer.pool;
            reads::send_request(pool, &thread, request, &pool.server.channel).await
        })
    }

    fn get_items(&self, items: Vec<ItemKey>) -> BoxFuture<'_, Result<Vec<Option<Vec<u8>>>>> {
        self.read(|writer| async move { items::get(&writer.pool, &items).await })
    }

    fn scan_items<'a>(&'a self, scan: &'a ItemScan) -> BoxFuture<'a, Result<Vec<Item>>> {
        let scan = scan.clone();
        self.read(|writer| async move { items::scan(&writer.pool, &scan).await })
    }

    fn write_items(&self, writes: Vec<ItemWrite>) -> Receipt {
        if let Err(error) = self.check_writable().and_then(|()| ItemWrite::check_all(&writes)) {
            return Receipt::ready(Err(error));
        }
        let (writer, (reply, answer)) = (Arc::clone(&self.shared.writer), oneshot::channel());
        self.shared.background.runtime.spawn(async move {
            _ = reply.send(items::write(&writer.pool, random_id(), &writes).await);
        });
        Receipt::waiting(answer)
    }

    fn list<'a>(&'a self, query: &'a ThreadQuery) -> BoxFuture<'a, Result<Vec<ListedThread>>> {
        let (query, may_write) = (query.clone(), self.read_only.is_none());
        Box::pin(async move {
            self.shared.settle_released().await?;
            let list = |writer: Arc<Writer>| async move {
                if may_write {
                    summaries::refresh(&writer.pool).await?;
                }
                listing::list(&writer.pool, &query).await
            };
            self.read(list).await
        })
    }

    fn due<'a>(&'a self, query: &'a DueQuery) -> BoxFuture<'a, Result<DueThreads>> {
        Box::pin(async move {
            self.check_writable()?;
            self.shared.settle_released().await?;
            let asked = query.clone();
            let found = self.read(move |writer| async move { listing::due(&writer.pool, &asked).await });
            let DueNames { names, now, others } = found.await?;
            let (mut reader, mut threads) = (SummaryReader::new(&self), vec![]);
            for name in names {
                if threads.len() >= query.limit {
                    break;
                }
                let lease = match self.claim(&name, Claim::IfFree).await {
                    Err(CheckpointError::ThreadBusy { .. }) => continue,
                    lease => lease?,
                };
                // Somebody may have run it since it was found.
                let found = reader.read_records(&name).await?.map(|found| found.at(now, false));
                match found.filter(|found| found.can_resume() && query.fits(found)) {
                    Some(found) => threads.push((lease, found)),
                    None => lease.release().await?,
                }
            }
            // Only now: of a thread that another process claimed meanwhile, the end of its lease counts.
            let asked = query.clone();
            let next = self.read(move |writer| async move { listing::next_due(&writer, &asked, now).await });
            Ok(DueThreads { threads, next: next.await?, others })
        })
    }

    fn watch(&self) -> StoreWatch {
        self.shared.writer.hints.watch()
    }

    fn time(&self) -> Option<SystemTime> {
        self.shared.writer.clock.time()
    }
}
