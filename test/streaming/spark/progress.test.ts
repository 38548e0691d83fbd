import { describe, expect, it } from 'vitest'
import { parseSparkProgress, ranBatch } from '../../../src/streaming/spark/progress.ts'

/** As Spark Connect 4.0 sends it: ids are numbers of 64 bits, and the sums of the sources are missing. */
const SENT = `{"id":"q","runId":"r","name":"pipe-1","timestamp":"2026-11-24T09:38:44.014Z","batchId":3,"batchDuration":917,
  "durationMs":{"addBatch":482,"commitOffsets":88,"latestOffset":33,"triggerExecution":917,"walCommit":264},
  "stateOperators":[],"sources":[{"description":"lake.s.a",
  "startOffset":{"version":1,"snapshot_id":5781947118336215154,"position":1,"scan_all_files":false},
  "endOffset":"{\\"version\\":1,\\"snapshot_id\\":9223372036854775807,\\"position\\":2,\\"scan_all_files\\":false}",
  "latestOffset":null,"numInputRows":10,"inputRowsPerSecond":"NaN","processedRowsPerSecond":10.905125408942204}],
  "sink":{"description":"lake.s.b","numOutputRows":-1}}`

describe("Spark's progress", () => {
  it('is read without rounding snapshot ids', () => {
    const progress = parseSparkProgress(SENT)
    expect(progress.sources[0]?.start?.snapshotId).toBe(5781947118336215154n)
    expect(progress.sources[0]?.end?.snapshotId).toBe(9223372036854775807n)
  })

  it('has the sums of the sources, and no rate where Spark has none', () => {
    const { batchId, inputRows, inputRate, processedRate, outputRows, durations } = parseSparkProgress(SENT)
    expect({ batchId, inputRows, inputRate, processedRate, outputRows }).toEqual({
      batchId: 3,
      inputRows: 10,
      inputRate: null,
      processedRate: 10.9,
      outputRows: undefined,
    })
    expect(durations).toMatchObject({ add_batch: 482, wal_commit: 264, trigger_execution: 917 })
  })

  it('tells a batch from a trigger that found nothing', () => {
    expect(ranBatch(parseSparkProgress(SENT))).toBe(true)
    expect(ranBatch(parseSparkProgress(SENT.replace('"addBatch":482,', '')))).toBe(false)
  })

  it.each(['', '{}', '[]', SENT.replace('"batchId":3', '"batchId":"x"'), SENT.slice(0, 100)])(
    'refuses what is not one',
    (text) => {
      expect(() => parseSparkProgress(text)).toThrow()
    },
  )
})
