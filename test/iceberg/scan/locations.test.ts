import { describe, expect, it } from 'vitest'
import { isBelow, locationKey, sameLocation } from '../../../src/iceberg/io/location-identity.ts'
import { newDataLocation, newMetadataFileLocation, ownedFolders } from '../../../src/iceberg/metadata/locations.ts'
import { createTableMetadata } from '../../../src/iceberg/metadata/builder.ts'
import type { TableMetadata } from '../../../src/iceberg/metadata/metadata.ts'
import { fixtureSchema } from '../../support/table-fixture.ts'

function table(properties: Readonly<Record<string, string>> = {}): TableMetadata {
  return createTableMetadata({
    schema: fixtureSchema,
    location: 's3://bucket/db/t',
    properties,
    uuid: '00000000-0000-4000-8000-000000000001',
    nowMs: 1,
  })
}

describe('location identity', () => {
  it.each([
    ['hdfs://h:1/a/b', '/a/b', true],
    ['hdfs://h:1/a/b', 'hdfs:///a/b', true],
    ['hdfs://h:1/a/b', 'hdfs://h:2/a/b', false],
    ['s3a://b/k', 's3://b/k', true],
    ['s3n://b/k', 's3a://b/k', true],
    ['s3://b/k', 's3://c/k', false],
    ['s3://b/k//x', 's3://b/k/x', false],
    ['file:///a/b', 'file:/a/b', true],
    ['file:///a/b', '/a/b', true],
    ['file:/a/b', 'hdfs:/a/b', false],
    ['gs://b/k', 's3://b/k', false],
    ['/a/b c', '/a/b%20c', false],
    ['relative/x', 'relative/x', true],
  ])('%s and %s', (a, b, same) => {
    expect(sameLocation(a, b)).toBe(same)
    expect(sameLocation(b, a)).toBe(same)
    if (same) expect(locationKey(a)).toBe(locationKey(b))
  })

  it.each([
    ['s3://b/t/data/x', 's3://b/t', true],
    ['s3a://b/t/data/x', 's3://b/t/', true],
    ['s3://b/t2/data/x', 's3://b/t', false],
    ['s3://b/t', 's3://b/t', false],
    ['s3://c/t/data/x', 's3://b/t', false],
    ['s3://b/t/../u/x', 's3://b/t', false],
    ['/t/./x', '/t', false],
    ['hdfs://h/t/x', '/t', true],
  ])('%s below %s', (location, folder, below) => {
    expect(isBelow(location, folder)).toBe(below)
  })
})

describe('locations of new files', () => {
  it('are in the folder of the table unless properties say otherwise', () => {
    expect(newDataLocation(table(), '', 'f.parquet')).toBe('s3://bucket/db/t/data/f.parquet')
    expect(newDataLocation(table(), 'a=1/b=x', 'f.parquet')).toBe('s3://bucket/db/t/data/a=1/b=x/f.parquet')
    expect(newMetadataFileLocation(table(), 'm.avro')).toBe('s3://bucket/db/t/metadata/m.avro')
    const moved = table({ 'write.data.path': 's3://data/x/', 'write.metadata.path': 's3://meta/y' })
    expect(newDataLocation(moved, 'a=1', 'f')).toBe('s3://data/x/a=1/f')
    expect(newMetadataFileLocation(moved, 'm')).toBe('s3://meta/y/m')
    expect(ownedFolders(moved)).toEqual(['s3://bucket/db/t', 's3://data/x', 's3://meta/y'])
  })

  // hashes as other implementations compute them
  it.each([
    ['a', '0101/0110/1001/10110010'],
    ['b', '1110/0111/1110/00000011'],
    ['c', '0010/1101/0110/01011111'],
    ['d', '1001/0001/0100/01110011'],
  ])('spreads %s over an object store', (name, entropy) => {
    const hashed = table({ 'write.object-storage.enabled': 'true' })
    expect(newDataLocation(hashed, '', name)).toBe(`s3://bucket/db/t/data/${entropy}/${name}`)
    const flat = table({ 'write.object-storage.enabled': 'true', 'write.object-storage.partitioned-paths': 'false' })
    expect(newDataLocation(flat, 'p=1', name)).toBe(`s3://bucket/db/t/data/${entropy}-${name}`)
    const shared = table({ 'write.object-storage.enabled': 'true', 'write.data.path': 's3://other/data' })
    expect(newDataLocation(shared, '', name)).toBe(`s3://other/data/${entropy}/db/t/${name}`)
  })
})
