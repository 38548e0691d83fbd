import { describe, expect, test } from 'vitest'
import { formatBytes } from '../../../frontend/src/strings/everywhere/units.ts'
import { effectiveDefaults } from '../../../frontend/src/features/tables/actions/effective-defaults.ts'
import { parseCompactionOptions } from '../../../src/maintenance/compaction/options.ts'

const MIB = 1024 ** 2

describe('the defaults that a form shows', () => {
  test.each([
    ['a table without properties', {}, undefined],
    ['a table with a target size', { 'write.target-file-size-bytes': String(128 * MIB) }, undefined],
    ['an entered target size', { 'write.target-file-size-bytes': String(128 * MIB) }, 64 * MIB],
  ])('of a compaction equal those of the service for %s', (_title, properties, typed) => {
    const request = typed === undefined ? {} : { target_file_size_bytes: typed }
    const options = parseCompactionOptions(request, properties)
    const values = typed === undefined ? {} : { target_file_size_bytes: formatBytes(typed) }
    expect(effectiveDefaults('compact', properties, values)).toMatchObject({
      target_file_size_bytes: formatBytes(options.targetFileSizeBytes),
      min_file_size_bytes: formatBytes(options.minFileSizeBytes),
      max_file_size_bytes: formatBytes(options.maxFileSizeBytes),
      min_input_files: String(options.minInputFiles),
      delete_ratio_threshold: String(options.deleteRatioThreshold),
      max_files_to_rewrite: options.maxFilesToRewrite === undefined ? 'no limit' : '',
    })
  })

  test('of an expiry equal those of the table', () => {
    expect(effectiveDefaults('expire', {}, {})).toEqual({ older_than: '5 d ago', retain_last: '1' })
    const properties = {
      'history.expire.max-snapshot-age-ms': '86400000',
      'history.expire.min-snapshots-to-keep': '20',
    }
    expect(effectiveDefaults('expire', properties, {})).toEqual({ older_than: '1 d ago', retain_last: '20' })
  })

  test('do not exist for actions without options', () => {
    expect(effectiveDefaults('rollback', {}, {})).toEqual({})
  })
})
