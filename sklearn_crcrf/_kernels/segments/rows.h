/* Sums over the segmentations of several sequences at once: a row has a number for each sequence.
   The functions are made for float and for double; see vectors.h. */

#ifndef SKLEARN_CRCRF_SEGMENT_ROWS_H
#define SKLEARN_CRCRF_SEGMENT_ROWS_H

#include "vectors.h"

/* These types belong to no set of instructions. */
#ifndef SEQUENCES
/* The number of sequences: a multiple of the numbers in every vector. */
#define SEQUENCES 16

/* The rows of a type of segments. The row behind all labels stands for labels that there are not:
   its factor is zero. */
typedef struct {
    int64_t single, first, inside, last;    /* among labels */
    int64_t single_begin, first_begin;      /* among labels that something can begin with */
    int64_t single_end, last_end;           /* among labels that something can end with */
} SegmentType;

/* The numbers of rows, and where in memory the rows of each array begin. */
typedef struct {
    int64_t labels, begins, ends, types, positions;  /* labels, begins, ends: and one more */
    /* With rows for each token; opened and share also for before the first token. */
    int64_t v, closed, opened, share;
    /* Factors. Of the transitions in segments: first to inside, inside to inside, first to last,
       and inside to last; kept while a token has others. */
    int64_t factor, within, kept_within;
    /* Of the token that the recursion is at. */
    int64_t entry, top, after_closed, after_open, after_entry, closing;
    /* Expected counts of the block: of pairs of an end and a begin, of transitions in segments, of
       lengths, and of last labels; sums over sequences; and inner without the token. */
    int64_t pairs, inner, lengths, ended, totals, kept_inner;
} SegmentRows;
#endif

#include "as_double.h"
#include "segments/rows_of_type.h"
#include "as_float.h"
#include "segments/rows_of_type.h"
#include "no_type.h"

#define MIX_ROWS(table, ...) OF_TYPE(mix_rows, table)(table, __VA_ARGS__)
#define ADD_ROW_PAIRS(factor, ...) OF_TYPE(add_row_pairs, factor)(factor, __VA_ARGS__)
#define RAISE_TO(rows, ...) OF_TYPE(raise_to, rows)(rows, __VA_ARGS__)
#define WEIGH_ROWS(rows, ...) OF_TYPE(weigh_rows, rows)(rows, __VA_ARGS__)
#define EXTEND_SEGMENTS(n, type, k, t, memory) \
    OF_TYPE(extend_segments, memory)(n, type, k, t, memory)
#define RETRACT_SEGMENTS(n, type, k, t, memory) \
    OF_TYPE(retract_segments, memory)(n, type, k, t, memory)

#endif
