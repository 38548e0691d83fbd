import { describe, expect, it } from 'vitest'
import { parseCompactionOptions } from '../../../src/maintenance/compaction/options.ts'

describe('options of a compaction', () => {
  it('have the defaults of rewrite_data_files', () => {
    expect(parseCompactionOptions({}, {})).toEqual({
      method: 'auto',
      minRowGroupSizeBytes: 8_388_608,
      strategy: 'binpack',
      targetFileSizeBytes: 536_870_912,
      minFileSizeBytes: 402_653_184,
      maxFileSizeBytes: 966_367_641,
      minInputFiles: 5,
      rewriteAll: false,
      deleteFileThreshold: 2_147_483_647,
      deleteRatioThreshold: 0.3,
      maxFileGroupSizeBytes: 107_374_182_400,
      maxFileGroupInputFiles: Number.MAX_SAFE_INTEGER,
      partialProgress: false,
      partialProgressMaxCommits: 10,
      maxConcurrentFileGroupRewrites: 2,
      verify: 'values',
      onConflict: 'carry_over',
    })
  })

  it('read the target from the table, and derive the other sizes from it', () => {
    const options = parseCompactionOptions({}, { 'write.target-file-size-bytes': '1000' })
    expect(options).toMatchObject({ targetFileSizeBytes: 1000, minFileSizeBytes: 750, maxFileSizeBytes: 1800 })
    expect(
      parseCompactionOptions({ target_file_size_bytes: 2000 }, { 'write.target-file-size-bytes': '1000' }),
    ).toMatchObject({ targetFileSizeBytes: 2000, minFileSizeBytes: 1500, maxFileSizeBytes: 3600 })
  })

  it.each([
    ['target_file_size_bytes', { target_file_size_bytes: 0 }],
    ['target_file_size_bytes', { target_file_size_bytes: 1.5 }],
    ['target_file_size_bytes', { target_file_size_bytes: '100' }],
    ['min_file_size_bytes', { target_file_size_bytes: 100, min_file_size_bytes: 100 }],
    ['min_file_size_bytes', { min_file_size_bytes: -1 }],
    ['max_file_size_bytes', { target_file_size_bytes: 100, max_file_size_bytes: 100 }],
    ['min_input_files', { min_input_files: 0 }],
    ['delete_file_threshold', { delete_file_threshold: -1 }],
    ['delete_ratio_threshold', { delete_ratio_threshold: 0 }],
    ['delete_ratio_threshold', { delete_ratio_threshold: 1.01 }],
    ['delete_ratio_threshold', { delete_ratio_threshold: Number.NaN }],
    ['max_files_to_rewrite', { max_files_to_rewrite: 0 }],
    ['rewrite_all', { rewrite_all: 'yes' }],
    ['strategy', { strategy: 'random' }],
    ['columns', { strategy: 'zorder' }],
    ['columns', { strategy: 'hilbert', columns: [] }],
    ['columns', { strategy: 'hilbert', columns: 'a' }],
    ['columns', { columns: ['a'] }],
    ['columns', { strategy: 'sort', columns: ['a'] }],
    ['sort_order', { strategy: 'zorder', sort_order: 'a', columns: ['a'] }],
    ['sort_order', { sort_order: 'zorder(a, b)' }],
    ['max_bytes_to_rewrite', { max_bytes_to_rewrite: 0 }],
    ['method', { method: 'join' }],
    ['method', { method: 'copy', strategy: 'sort', sort_order: 'a' }],
    ['method', { method: 'copy', sort_order: 'a' }],
    ['min_row_group_size_bytes', { min_row_group_size_bytes: -1 }],
    ['sort_order', { strategy: 'binpack', sort_order: 'a' }],
    ['sort_order', { sort_order: '  ' }],
    ['where', { where: 7 }],
    ['retain_last', { retain_last: 3 }],
  ])('refuse an invalid %s by name', (field, request) => {
    expect(() => parseCompactionOptions(request, {})).toThrow(
      expect.objectContaining({ code: 'INVALID_ARGUMENT', message: expect.stringContaining(field) }),
    )
  })

  it('take the columns of a curve from the request, else from the table property', () => {
    const properties = { 'lockhouse.cluster-by': 'ZORDER("odd, ""name""", `b`, c.d)' }
    const own = parseCompactionOptions({ strategy: 'hilbert' }, properties)
    expect(own).toMatchObject({ strategy: 'hilbert', columns: ['odd, "name"', 'b', 'c.d'] })
    const given = parseCompactionOptions({ strategy: 'zorder', columns: ['x'] }, properties)
    expect(given).toMatchObject({ strategy: 'zorder', columns: ['x'] })
    expect(parseCompactionOptions({}, properties).strategy).toBe('binpack')
  })

  it.each(['a, b', 'zorder()', 'zorder(a b)', 'zorder(a,)', 'hilbert(a', 'sort(a)'])(
    'refuse %s as the table property of a curve',
    (text) => {
      expect(() => parseCompactionOptions({ strategy: 'zorder' }, { 'lockhouse.cluster-by': text })).toThrow(
        expect.objectContaining({ code: 'INVALID_METADATA', message: expect.stringContaining('lockhouse.cluster-by') }),
      )
    },
  )

  it('refuse an invalid table property as a metadata error', () => {
    const huge = parseCompactionOptions({}, { 'write.target-file-size-bytes': '9223372036854775807' })
    expect(huge.targetFileSizeBytes).toBe(2 ** 52)
    expect(Number.isSafeInteger(huge.maxFileSizeBytes)).toBe(true)
    expect(() => parseCompactionOptions({}, { 'write.target-file-size-bytes': '12 MB' })).toThrow(
      expect.objectContaining({ code: 'INVALID_METADATA' }),
    )
  })

  it('treat null and undefined fields as absent', () => {
    expect(parseCompactionOptions({ max_files_to_rewrite: null, where: undefined }, {})).toEqual(
      parseCompactionOptions({}, {}),
    )
  })
})
