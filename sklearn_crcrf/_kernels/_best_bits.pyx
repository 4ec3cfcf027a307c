"""The best bits of the tokens of forests, for several binary models.

With the log-odds x_t of bit 1 by the attributes of a token, and transition scores T_ij of a parent
with bit i and a child with bit j, messages go from the last tokens to the roots:

    c_t = x_t + sum_{children u} m_u,      m_t = max(T_10, T_11 + c_t) - max(T_00, T_01 + c_t)

and bits back: b_root = [c_root > 0], and b_t = [T_i1 + c_t > T_i0] with i the bit of the parent.
"""

from libc.stdint cimport int64_t


def best_bits(
    const int64_t[::1] offsets,
    const int64_t[::1] order,         # (n_tokens,) positions in units, children before parents IN
    const int64_t[::1] parent,        # (n_tokens,) position in the unit, -1 for none IN
    const double[:, ::1] transition,  # (4, n_models) T_00, T_01, T_10, T_11 IN
    double[:, ::1] x,                 # (n_tokens, n_models) log-odds IN, bits OUT
):
    """Replace log-odds by the bits of the best labelling of each model."""
    cdef:
        int64_t u, k, j, t, to, start, n_models = x.shape[1]
        double c
    with nogil:
        for u in range(offsets.shape[0] - 1):
            start = offsets[u]
            for k in range(start, offsets[u + 1]):
                t, to = start + order[k], parent[start + order[k]]
                for j in range(n_models if to >= 0 else 0):
                    c = x[t, j]
                    x[start + to, j] += (
                        max(transition[2, j], transition[3, j] + c)
                        - max(transition[0, j], transition[1, j] + c)
                    )
            for k in range(offsets[u + 1] - 1, start - 1, -1):
                t, to = start + order[k], parent[start + order[k]]
                for j in range(n_models):
                    c = x[t, j]
                    if to >= 0 and x[start + to, j] > 0.0:
                        c += transition[3, j] - transition[2, j]
                    elif to >= 0:
                        c += transition[1, j] - transition[0, j]
                    x[t, j] = c > 0.0
