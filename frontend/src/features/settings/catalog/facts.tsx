import { Fragment } from 'react'
import type { CatalogConfig } from '../../../api/types.ts'
import { catalogStrings as strings } from '../../../strings/settings.ts'
import classes from '../settings.module.css'

/** The settings of a catalog without its name, as text. */
export function CatalogFacts({ config }: { readonly config: CatalogConfig }) {
  const { catalog_type: type, warehouse, uri, extra_props: properties } = config
  const facts = [
    [strings.type, type === null ? null : strings.types[type]],
    [strings.uri, uri],
    [strings.warehouse, warehouse],
    ...Object.entries(properties),
  ] as const
  return (
    <dl className={classes.facts}>
      {facts.map(([label, value]) => (
        <Fragment key={label}>
          <dt>{label}</dt>
          <dd>{value ?? strings.none}</dd>
        </Fragment>
      ))}
    </dl>
  )
}
