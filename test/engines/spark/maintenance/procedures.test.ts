import { describe, expect, it } from 'vitest'
import {
  listOrphanFiles,
  rewriteDataFiles,
  rewriteManifests,
} from '../../../../src/engines/spark/maintenance/procedures.ts'

const TABLE = { catalog: 'lake', namespace: ['a', 'b'], name: 't' }

describe('statements for Spark', () => {
  it('name the table and every option', () => {
    expect(rewriteDataFiles(TABLE, { strategy: 'binpack', options: { 'rewrite-all': 'true' } }).query).toBe(
      "CALL `lake`.system.rewrite_data_files(table => '`lake`.`a`.`b`.`t`', strategy => 'binpack', " +
        "options => map('rewrite-all', 'true'))",
    )
    expect(rewriteManifests(TABLE).query).toBe("CALL `lake`.system.rewrite_manifests(table => '`lake`.`a`.`b`.`t`')")
  })

  it('only ever list orphan files', () => {
    expect(listOrphanFiles(TABLE, Date.UTC(2026, 0, 2)).query).toBe(
      "CALL `lake`.system.remove_orphan_files(table => '`lake`.`a`.`b`.`t`', " +
        "older_than => TIMESTAMP '2026-01-02T00:00:00.000Z', dry_run => true)",
    )
  })

  it.each(["a' OR 1=1 --", 'a\\', '${env:HOME}', 'ü', '\n', "' , dry_run => false"])('carry %j as bytes', (text) => {
    const hex = Buffer.from(text).toString('hex')
    const { query } = rewriteDataFiles(TABLE, { strategy: 'binpack', options: {}, where: text })
    expect(query).toContain(`where => CAST(X'${hex}' AS STRING)`)
    expect(rewriteManifests({ ...TABLE, name: text }).query).toContain("table => CAST(X'")
  })
})
