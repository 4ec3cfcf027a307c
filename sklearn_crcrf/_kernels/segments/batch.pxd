from libc.stdint cimport int32_t, int64_t


cdef class BatchSegments:
    cdef:
        const int32_t[::1] outside     # (n_outside,) labels between segments
        const int32_t[::1] single      # (n_types,) labels of segments of one token, -1 for none
        const int32_t[::1] first       # (n_types,)
        const int32_t[::1] inside      # (n_types,)
        const int32_t[::1] last        # (n_types,)
        const int32_t[::1] begins      # labels that a segment or a token between can begin with
        const int32_t[::1] ends        # labels that they can end with
        const int64_t[:, ::1] rows     # (n_types, 8) SegmentType
        const int64_t[:, ::1] outside_rows  # (n_outside, 3) among labels, begins and ends
        const int64_t[::1] indptr      # (n_tokens + 1,) the spans that end at each token
        const int32_t[::1] length      # (n_spans,) at most max_length
        const double[:, ::1] by_length # (n_types, max_length + 1), the last for longer segments
        const double[:, ::1] by_span   # (n_spans, n_types)
