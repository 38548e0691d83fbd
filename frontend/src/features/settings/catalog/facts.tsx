import { Fragment } from 'react'
import type { CatalogConfig } from '../../../api/types.ts'
import { catalogStrings as strings } from '../../../strings/settings.ts'
import classes from '../settings.module.css'

/** The catalog for roles that can only read it. */
export function CatalogFacts({ config }: { readonly config: CatalogConfig }) {
  const { catalog_type: type, catalog_name: name, warehouse, uri, extra_props: properties } = config
  const facts = [
    [strings.type, type === null ? null : strings.types[type]],
    [strings.name, name],
    [strings.uri, uri],
    [strings.warehouse, warehouse],
    ...Object.entries(properties),
  ] as const
  return (
    <>
      <dl className={classes.facts}>
        {facts.map(([label, value]) => (
          <Fragment key={label}>
            <dt>{label}</dt>
            <dd>{value ?? strings.none}</dd>
          </Fragment>
        ))}
      </dl>
      <p className={classes.dimmed}>{strings.readOnly}</p>
    </>
  )
}
