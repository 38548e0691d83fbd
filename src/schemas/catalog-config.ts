import { z } from 'zod'

const name = z.string().min(1).max(255)

/** Catalog configuration (docs/api.md#catalog-configuration); secret values of `extra_props` are shown as `***`. */
export const catalogConfig = z
  .object({
    configured: z.boolean(),
    catalog_type: z.enum(['sql', 'rest', 'hadoop']).nullable(),
    warehouse: z.string().nullable(),
    catalog_name: z.string().nullable(),
    uri: z.string().nullable(),
    extra_props: z.record(z.string(), z.string()),
  })
  .meta({ id: 'CatalogConfig' })

/**
 * `"***"` keeps the stored value of an extra property, while all addresses stay the same; `env:NAME` is read from the
 * server's environment when opened, for names that start with `LAKE_` or are listed in `CONFIG_ENV_ALLOW`.
 */
export const setCatalogConfigRequest = z.strictObject({
  configured: z
    .boolean()
    .optional()
    .meta({ description: 'Ignored, so that a response of GET can be sent back unchanged' }),
  catalog_type: z.enum(['sql', 'rest', 'hadoop']),
  warehouse: z.string().min(1).max(4000),
  catalog_name: name,
  uri: z.string().max(4000).nullable().optional().meta({
    description:
      'sqlite:///path, postgresql://…, or the address of a REST catalog. The form with *** from GET keeps the password',
  }),
  extra_props: z.record(z.string().max(500), z.string().max(10_000)).optional(),
  create: z.boolean().optional().meta({
    description:
      'Creates what is missing: the SQLite file of an sql catalog, the tables in it, or the folder of a hadoop catalog; default false',
  }),
})

/** Pipelines that a change of a catalog affects. */
export const affectedPipelines = z
  .array(z.object({ id: z.string(), tables: z.array(z.object({ table: z.string(), problem: z.string() })) }))
  .meta({
    description: 'Running pipelines whose tables are missing in the new catalog, or are different tables there',
  })

export const setCatalogConfigResult = z
  .object({
    success: z.literal(true),
    config: catalogConfig,
    affected_pipelines: affectedPipelines,
  })
  .meta({ id: 'CatalogConfigResult' })

export type CatalogConfig = z.infer<typeof catalogConfig>
export type SetCatalogConfigRequest = z.infer<typeof setCatalogConfigRequest>
