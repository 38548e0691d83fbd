/** How a catalog is configured (spec, section 2, "Catalog configuration"); values may be `env:NAME` references. */
export interface CatalogSettings {
  readonly catalogType: 'sql' | 'rest' | 'hadoop'
  /** Folder of new tables, as a path or a `file:` URI. */
  readonly warehouse: string
  readonly catalogName: string
  /** `sql`: `sqlite:///path` or `postgresql://…`; otherwise unused. */
  readonly uri: string | null
  readonly extraProps: Readonly<Record<string, string>>
}
