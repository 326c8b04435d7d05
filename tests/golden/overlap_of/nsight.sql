-- SPDX-License-Identifier: BSD-3-Clause
-- The tables of an export of Nsight Systems that overlap_of reads; times in ns.
CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);
INSERT INTO StringIds VALUES (1, 'gemm'), (2, 'ncclDevKernel_AllReduce_Sum_bf16_RING_LL'),
    (3, 'cudaLaunchKernel_v7000'), (4, 'cudaStreamSynchronize_v3020'), (5, 'iteration 2');
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, deviceId INTEGER,
    contextId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid INTEGER,
    demangledName INTEGER, shortName INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, end INTEGER, eventClass INTEGER,
    globalTid INTEGER, correlationId INTEGER, nameId INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INTEGER, end INTEGER, deviceId INTEGER,
    streamId INTEGER, correlationId INTEGER, globalPid INTEGER, bytes INTEGER, copyKind
    INTEGER);
CREATE TABLE NVTX_EVENTS (start INTEGER, end INTEGER, eventType INTEGER, text TEXT,
    globalTid INTEGER, textId INTEGER);
INSERT INTO NVTX_EVENTS VALUES (0, 100000, 59, 'iteration 1', 16777216 * 5 + 9, NULL),
    (100000, 200000, 59, NULL, 16777216 * 5 + 9, 5), (0, 300000, 59, 'epoch', 16777216 * 5 +
    9, NULL);
INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (5000, 6000, 0, 16777216 * 5 + 9, 1, 3),
    (6000, 7000, 0, 16777216 * 5 + 9, 2, 3), (105000, 106000, 0, 16777216 * 5 + 9, 3, 3),
    (150000, 175000, 0, 16777216 * 5 + 9, 4, 4);
INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (10000, 50000, 0, 1, 7, 1, 16777216 * 5, 1,
    1), (40000, 105000, 0, 1, 20, 2, 16777216 * 5, 2, 2), (110000, 150000, 0, 1, 7, 3,
    16777216 * 5, 1, 1);
INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (150000, 160000, 0, 21, 0, 16777216 * 5, 4096,
    10), (155000, 170000, 0, 22, 0, 16777216 * 5, 4096, 1);
