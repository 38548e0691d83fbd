import { z } from 'zod'
import { affectedPipelines, catalogConfig } from '../catalog-config.ts'
import { nextPageToken, queryFlag } from '../common.ts'

/** The checks of a catalog, in order. */
export const CONNECTION_CHECK_NAMES = ['reach', 'list', 'load', 'read', 'write', 'commit', 'credentials'] as const

/** The name of a check. */
export type ConnectionCheckName = (typeof CONNECTION_CHECK_NAMES)[number]

/** What each of them checks. A check needs the earlier ones that `needs` names. */
export const CONNECTION_CHECKS: Readonly<
  Record<ConnectionCheckName, { readonly needs: readonly ConnectionCheckName[]; readonly text: string }>
> = {
  reach: { needs: [], text: 'The server or the database responds' },
  list: { needs: ['reach'], text: 'Namespaces and tables can be listed' },
  load: { needs: ['list'], text: 'The metadata of a table can be loaded' },
  read: { needs: ['load'], text: 'The footer of a data file of this table can be read' },
  write: {
    needs: ['list'],
    text: 'A file can be created, read and deleted below the warehouse, outside of all tables',
  },
  commit: { needs: ['list'], text: 'The catalog accepts commits; no table is changed' },
  credentials: { needs: ['reach'], text: 'The credentials for data files can be obtained, and renewed if they expire' },
}

const described = CONNECTION_CHECK_NAMES.map((name) => `\`${name}\`: ${CONNECTION_CHECKS[name].text}`)

export const connectionCheck = z
  .object({
    check: z.enum(CONNECTION_CHECK_NAMES).meta({ description: described.join('. ') }),
    outcome: z.enum(['ok', 'failed', 'skipped']),
    detail: z.string().meta({ description: 'What was found, or why the check failed or was skipped. Never a secret' }),
    hint: z.string().optional().meta({ description: 'What to configure or to do' }),
    duration_ms: z.int().min(0),
  })
  .meta({ id: 'ConnectionCheck' })

/** The result of a test of a catalog's connection (docs/api.md#test-a-catalog). */
export const connectionTest = z
  .object({
    catalog: z.string(),
    outcome: z.enum(['ok', 'failed']).meta({ description: '`ok`: no check failed' }),
    duration_ms: z.int().min(0),
    checks: z.array(connectionCheck).meta({ description: 'Every check, in order' }),
  })
  .meta({ id: 'ConnectionTest' })

export const connectionTestQuery = z.strictObject({
  commit: queryFlag.optional().meta({
    description:
      'Also send a commit to a REST catalog, which must refuse it: it requires the UUID of another table and has no updates. Default false',
  }),
})

/** A catalog that is configured. */
export const catalogEntry = z
  .object({
    name: z.string(),
    is_default: z.boolean().meta({ description: 'Names of tables without a catalog mean this one' }),
    is_open: z.boolean().meta({ description: 'False: the catalog could not be opened' }),
    problem: z
      .string()
      .nullable()
      .meta({ description: 'Why the catalog could not be opened, without secrets; null: it is open' }),
    settings: catalogConfig,
  })
  .meta({ id: 'CatalogEntry' })

export const catalogList = z
  .object({ success: z.literal(true), catalogs: z.array(catalogEntry), next_page_token: nextPageToken })
  .meta({ id: 'CatalogList' })

/** Answer of requests about one catalog. */
export const catalogAnswer = z.object({ success: z.literal(true), catalog: catalogEntry }).meta({ id: 'CatalogAnswer' })

/** Answer of a change of a catalog beside the default one. */
export const changedCatalogAnswer = catalogAnswer
  .extend({ affected_pipelines: affectedPipelines })
  .meta({ id: 'ChangedCatalogAnswer' })

export type ConnectionCheck = z.infer<typeof connectionCheck>
export type ConnectionTest = z.infer<typeof connectionTest>
export type CatalogEntry = z.infer<typeof catalogEntry>
