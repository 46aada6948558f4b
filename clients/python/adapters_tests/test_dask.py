"""A cluster of Dask as the launcher of workers."""

import distributed
from workers import Workers


class TestDask(Workers):
    def test_workers_execute_blocks(self):
        with distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None, local_directory=str(self.folder / "dask")
        ) as cluster:
            self.run_with("xstate_engine.adapters.dask", cluster.scheduler_address)
