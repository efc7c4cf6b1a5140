"""The Beam job from text to data set: the chain, its workers, its progress.

    make_data     The job from text to data set, from beginning to end.
    transforms    The Beam steps: each a thin shell around one function.
    spill         The shuffle on one machine: documents wait on disk until their shard
                  is made.
    runners       Where a job runs, on this machine or on a cluster, and Beam's options
                  for it.
    java_options  Options of Flink and Spark that only Beam's Java knows, of version
                  2.77.
    places        Where the workers and the engine of a job are, by Beam's options.
    local_runner  Beam's runner on this machine, with worker processes of ours that are
                  watched.
    local_worker  A worker of a job on this machine: Beam's, silent, and ending with
                  its parent.
    worker_pool   A pool of workers for a cluster without Beam's image, each a process
                  of ours.
    worker_boot   The start of one worker of a cluster: it asks the engine for what it
                  needs to know.
    beam_log      What Beam logs, kept out of sight.
    failures      The failure of a step keeps its type on the way through Beam.
    resuming      What an earlier attempt at a data set has left, and whether it is
                  whole.
    progress      How far a job is, read from the marks that its workers write.
    estimate      What a job will make and cost, estimated from a small part of it.

May import: all rooms before it.
"""
