import type { Scene } from './scene.ts'

/** A page: its name, its address in a scene, and a text that is visible when it is complete. */
export type PageAddress<S> = readonly [name: string, path: (scene: S) => string, text: string | RegExp]

/** Every page behind the sign-in. */
export const PAGES: readonly PageAddress<Scene>[] = [
  ['overview', () => '/overview', 'All pipelines'],
  ['tables', () => '/tables', 'trips_copy'],
  ['table-overview', () => '/tables/demo.events', 'Format version'],
  ['table-schema', () => '/tables/demo.trips?tab=schema', 'Type'],
  ['table-health', () => '/tables/demo.events?tab=health', 'Score details'],
  ['table-snapshots', () => '/tables/demo.events?tab=snapshots', 'append'],
  ['table-files', () => '/tables/demo.events?tab=files', '.parquet'],
  ['table-partitions', () => '/tables/demo.trips?tab=partitions', 'Data files'],
  ['table-refs', () => '/tables/demo.orders?tab=refs', 'main'],
  ['table-history', () => '/tables/demo.orders?tab=history', 'Became current'],
  ['table-properties', () => '/tables/demo.orders?tab=properties', 'Value'],
  ['compact', () => '/tables/demo.events?action=compact&recommended=1', 'Nothing has been changed yet.'],
  ['policies', () => '/policies', 'nightly'],
  ['policy', ({ policy }) => `/policies/${policy}`, 'Would run'],
  ['policy-edit', ({ policy }) => `/policies/${policy}/edit`, 'Due when any of these is true'],
  ['pipelines', () => '/pipelines', 'demo.trips_copy'],
  ['pipeline', ({ pipeline }) => `/pipelines/${pipeline}`, 'Rows per second'],
  ['pipeline-start', () => '/pipelines/new', 'Checkpoint location'],
  ['definitions', () => '/definitions', 'Large orders'],
  ['designer', ({ definition }) => `/definitions/${definition}`, 'Add a node'],
  ['definition-environments', ({ definition }) => `/definitions/${definition}?tab=environments`, /by approval/i],
  ['versions', ({ definition }) => `/definitions/${definition}?tab=versions`, 'Production'],
  ['comparison', ({ definition, comparison }) => `/definitions/${definition}?${comparison}`, 'Changes from v1 to v2'],
  ['environments', () => '/environments', 'env:LAKE_API_KEY'],
  ['approvals', () => '/approvals', 'Large orders'],
  ['approval', ({ request }) => `/approvals/${request}`, 'The report wants larger ones only.'],
  ['agent', () => '/agent', 'Ask about your lakehouse'],
  ['agent-chat', ({ chat }) => `/agent/${chat}`, 'Needs confirmation'],
  ['notebook', () => '/notebooks', 'Not started'],
  ['operations', () => '/operations', 'demo.trips'],
  ['operation', ({ operation }) => `/operations/${operation}`, /After/],
  ['audit', () => '/audit', 'admin'],
  ['settings-catalog', () => '/settings/catalog', 'Warehouse'],
  ['settings-tokens', () => '/settings/tokens', 'ana'],
  ['settings-webhooks', () => '/settings/webhooks', /webhook/i],
  ['settings-about', () => '/settings/about', /version/i],
]
