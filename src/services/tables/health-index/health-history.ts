import type { z } from 'zod'
import { type PointReader, thinPoints } from '../../../lib/thin-points.ts'
import type { healthHistory, healthHistoryQuery } from '../../../schemas/tables/health-index.ts'
import type { Wire } from '../../../schemas/wire.ts'
import type { TableHealthSamplesTable } from '../../../storage/automation-schema.ts'
import type { HealthIndexStore } from '../../../storage/stores/tables/health-index-store.ts'
import { decodePageToken, encodePageToken } from '../../paging/page-token.ts'
import { pageLimit } from '../../paging/paging.ts'

/** Which samples of a table to return. */
export type HealthHistoryQuery = z.infer<typeof healthHistoryQuery>

type History = Wire<typeof healthHistory>
type Sample = TableHealthSamplesTable
type SampleStore = Pick<HealthIndexStore, 'samples'>

/** The samples of a table, newest first: a page or, with `points` or all kinds, a whole range. */
export async function readHistory(
  store: SampleStore,
  uuid: string,
  query: HealthHistoryQuery,
): Promise<Pick<History, 'samples' | 'previous' | 'is_thinned' | 'next_page_token'>> {
  const { kind = 'commit', from } = query
  const previous = from === undefined ? undefined : await sampleBefore(store, uuid, { kind, from })
  if (kind !== 'all' && query.points === undefined) {
    return { ...(await readPage(store, uuid, { ...query, kind })), previous: viewOrNull(previous), is_thinned: false }
  }
  const found = await readRange(store, uuid, { ...query, kind })
  const shown = query.points === undefined ? found : thinPoints(found.toReversed(), query.points, READER).toReversed()
  return {
    samples: shown.map(sampleView),
    previous: viewOrNull(previous),
    is_thinned: shown.length < found.length,
    next_page_token: null,
  }
}

type Kind = NonNullable<HealthHistoryQuery['kind']>

const READER: PointReader<Sample> = {
  atMs: ({ at }) => Date.parse(at),
  values: [({ score }) => score],
}

async function readPage(
  store: SampleStore,
  uuid: string,
  query: HealthHistoryQuery & { readonly kind: 'commit' | 'day' },
): Promise<Pick<History, 'samples' | 'next_page_token'>> {
  const { kind, from, to } = query
  const limit = Math.min(pageLimit(query), 1000)
  const before = decodePageToken(query.page_token, (slot) => (typeof slot === 'string' ? slot : undefined))
  const found = await store.samples(uuid, { kind, limit: limit + 1, before, from, to })
  const shown = found.slice(0, limit)
  const last = found.length > limit ? shown.at(-1) : undefined
  return {
    samples: shown.map(sampleView),
    next_page_token: last === undefined ? null : encodePageToken(last.slot),
  }
}

/** All samples of a range, newest first. */
async function readRange(
  store: SampleStore,
  uuid: string,
  { kind = 'commit', from, to }: HealthHistoryQuery,
): Promise<readonly Sample[]> {
  if (kind !== 'all') return store.samples(uuid, { kind, from, to })
  const commits = await store.samples(uuid, { kind: 'commit', from, to })
  const days = await store.samples(uuid, { kind: 'day', from, to })
  const oldest = commits.at(-1)
  return oldest === undefined ? days : [...commits, ...days.filter(({ at }) => at < oldest.at)]
}

/** The newest sample before a time. */
async function sampleBefore(
  store: SampleStore,
  uuid: string,
  { kind, from }: { readonly kind: Kind; readonly from: string },
): Promise<Sample | undefined> {
  const kinds = kind === 'all' ? (['commit', 'day'] as const) : [kind]
  const to = new Date(Date.parse(from) - 1).toISOString()
  const found = await Promise.all(kinds.map((one) => store.samples(uuid, { kind: one, limit: 1, to })))
  return found.flat().toSorted((a, b) => (a.at < b.at ? 1 : -1))[0]
}

function viewOrNull(sample: Sample | undefined): History['previous'] {
  return sample === undefined ? null : sampleView(sample)
}

function sampleView(sample: Sample): History['samples'][number] {
  return {
    at: sample.at,
    score: sample.score,
    data_file_count: sample.data_file_count,
    total_size_bytes: sample.total_size_bytes,
    small_file_count: sample.small_file_count,
    delete_file_count: sample.delete_file_count,
    snapshot_count: sample.snapshot_count,
  }
}
