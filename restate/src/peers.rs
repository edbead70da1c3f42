//! Workers that died: Restate keeps calling the address that it knows of them, so a worker that lives has these calls come to itself;
//! and one that stops gives its own to another. Where all workers have one address, that of a load balancer, there is nothing to do.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use tokio::time::sleep;

use crate::address::Address;
use crate::admin::{Admin, Deployment};
use crate::client::is_alive;
use crate::notices::Notices;

/// The pause between two looks at the other workers.
const PAUSE: Duration = Duration::from_millis(500);
/// The pause between two looks for what workers that died have left in Restate.
const TIDY: Duration = Duration::from_secs(60);
/// The number of looks in a row at which a worker that died does not answer.
const LOOKS: u32 = 2;

/// A worker among those of its service.
#[derive(Clone, Debug)]
pub(crate) struct Peers {
    pub(crate) admin: Admin,
    pub(crate) service: String,
    /// The address of this worker.
    pub(crate) own: Address,
    pub(crate) notices: Notices,
}

impl Peers {
    /// Watches the other workers, and takes over the calls of workers that have died.
    pub(crate) async fn watch(&self) {
        let (mut silent, mut tidied) = (HashMap::<String, u32>::new(), Instant::now());
        loop {
            sleep(PAUSE).await;
            if tidied.elapsed() > TIDY {
                tidied = Instant::now();
                self.tidy().await;
            }
            let Ok(others) = self.others().await else { continue }; // Restate is down: nobody is called
            let mut found = HashMap::new();
            for other in others {
                let address = other.address.to_string();
                if found.contains_key(&address) || is_alive(&other.address).await {
                    continue;
                }
                let looks = silent.get(&address).copied().unwrap_or_default() + 1;
                found.insert(address, looks);
            }
            silent = found;
            if silent.values().any(|looks| *looks >= LOOKS) {
                self.take_over(&silent).await;
            }
        }
    }

    /// Removes what is left in Restate of workers whose calls came to this one, once these calls have ended.
    async fn tidy(&self) {
        let Ok(all) = self.admin.deployments(&self.service).await else { return };
        let own: Vec<Deployment> = all.into_iter().filter(|one| one.address == self.own).collect();
        if own.len() > 1
            && let Err(reason) = self.admin.remove_unused(&self.service, &own).await
        {
            tracing::warn!(reason, "what is left of workers that died was not removed");
        }
    }

    /// Has the calls of workers that died come to this one.
    async fn take_over(&self, silent: &HashMap<String, u32>) {
        let Ok(others) = self.others().await else { return };
        let dead = silent.iter().filter(|(_, looks)| **looks >= LOOKS).map(|(address, _)| address);
        for address in dead {
            self.notices.send(&format!("the worker at {address} does not answer: its calls come to this one"));
            for other in others.iter().filter(|other| other.address.to_string() == *address) {
                self.move_to(other, &self.own).await;
            }
        }
    }

    /// Gives the calls of this worker to another one that lives.
    pub(crate) async fn hand_over(&self) {
        let Ok(all) = self.admin.deployments(&self.service).await else { return };
        let (own, others): (Vec<_>, Vec<_>) = all.into_iter().partition(|one| one.address == self.own);
        for other in others {
            if is_alive(&other.address).await {
                for one in &own {
                    self.move_to(one, &other.address).await;
                }
                return;
            }
        }
    }

    async fn move_to(&self, deployment: &Deployment, address: &Address) {
        if let Err(reason) = self.admin.move_to(deployment, address).await {
            tracing::warn!(reason, "the calls of a worker were not moved");
        }
    }

    /// Returns the workers at other addresses.
    async fn others(&self) -> Result<Vec<Deployment>, String> {
        let all = self.admin.deployments(&self.service).await?;
        Ok(all.into_iter().filter(|one| one.address != self.own).collect())
    }
}
