/* A race's state, and what is decided by it: shared by the parts of race.h, and by nobody else. */
#ifndef TSW_STATS_RACE_STATE_H
#define TSW_STATS_RACE_STATE_H

#include "stats/race.h"

/* Rounds before configs are compared in pairs; the last of them counts for that, too. */
enum { TSW_RACE_EARLY = 2, TSW_RACE_FIRST_PAIRED = 1 };

/* Paired rounds of a block, and of one after so many. */
enum { TSW_RACE_BLOCK = 2, TSW_RACE_LARGE_BLOCK = 8, TSW_RACE_LARGE_FROM = 16 };

enum { TSW_RACE_SHOT_NS = 12000 }; /* what a sample takes besides its interval */

typedef struct {
    tsw_race_fate_t fate;
    double fastest;  /* log of its fastest early sample */
    double least;    /* log of what it takes at least by these */
    double slowest;  /* log of the slowest one */
    double first_ns; /* a launch outside the race; 0: not known */
    double *log_ns;  /* per paired round, or of the final; a running config has all of them */
    size_t count;
    size_t rounds;        /* samples before the final */
    uint32_t below_floor; /* samples */
} tsw_race_entrant_t;

struct tsw_race {
    tsw_race_options_t options;
    uint64_t seed;
    uint64_t cell;
    tsw_race_entrant_t *entrants;
    size_t entrant_count;
    uint32_t *members; /* who takes part in a round, the control last */
    uint32_t *wave;    /* the wave that is out, in order of launch */
    bool *is_control;  /* for each of it */
    size_t wave_count;
    uint32_t wave_rounds; /* of the wave that is out */
    uint32_t round;       /* first of the wave that is out, or the next one */
    uint32_t next_look;   /* paired rounds at the end of this block */
    uint32_t finals;      /* rounds of the final so far */
    uint32_t final_slots; /* samples of it */
    double finals_ns;     /* what these took, about */
    double rounds_ns;     /* and all rounds before the final */
    uint32_t behind;      /* launches behind the last of them */
    bool is_paired;       /* configs are compared in pairs, from now on */
    bool in_final;
    bool over;
    bool unsettled;
    int64_t incumbent;
    double *control; /* log(control / incumbent) per final round */
    size_t control_count;
    double *scratch; /* room for two runs of samples */
    double *pairs;   /* and for the means of all pairs of one */
};

/* ---- race_decide.c ---- */

bool tsw_race_is_running(const tsw_race_t *race, size_t i);
/* Running, or kept for the final. */
bool tsw_race_takes_part(const tsw_race_t *race, size_t i);
size_t tsw_race_count_running(const tsw_race_t *race);
/* The running config of the lowest (sign 1) or highest (sign -1) figure; -1: none runs. */
int64_t tsw_race_find_extreme(const tsw_race_t *race, double sign);
/* Of one round with so many members. */
double tsw_race_round_ns(const tsw_race_t *race, size_t members, uint64_t interval_ns);
/* How many rounds more the final's time allows, when one takes so much. */
double tsw_race_final_rounds_left(const tsw_race_t *race, double one_ns);
/* Before the first round. */
void tsw_race_drop_by_first(tsw_race_t *race);
/* What follows from a whole wave: race->round is the number of its first round. */
void tsw_race_decide(tsw_race_t *race);
/* It is over: the fates of who is still in the final. */
void tsw_race_finish(tsw_race_t *race);

#endif
