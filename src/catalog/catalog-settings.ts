/** How a catalog is configured (spec, section 2, "Catalog configuration"); values may be `env:NAME` references. */
export interface CatalogSettings {
  readonly catalogType: 'sql' | 'rest' | 'hadoop'
  /** Folder of new tables, as a path or a URI; `rest`: or what the server calls it. */
  readonly warehouse: string
  readonly catalogName: string
  /** `sql`: `sqlite:///path` or `postgresql://…`; `rest`: `https://…`; otherwise unused. */
  readonly uri: string | null
  readonly extraProps: Readonly<Record<string, string>>
}
