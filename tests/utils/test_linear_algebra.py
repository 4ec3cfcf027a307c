from threadpoolctl import threadpool_info

from sklearn_crcrf.utils.linear_algebra import in_one_thread


def n_threads():
    return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}


def test_there_is_one_thread_meanwhile():
    before = n_threads()
    for _ in range(2):
        with in_one_thread():
            assert n_threads() <= {1}
        assert n_threads() == before
