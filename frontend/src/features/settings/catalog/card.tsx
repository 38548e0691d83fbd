import { Badge, Button } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { catalogQuery, configQuery } from '../../../api/catalog-config.ts'
import { useAction } from '../../../api/actions/use-action.ts'
import type { CatalogEntry } from '../../../api/types.ts'
import { Notice } from '../../../components/status/notice.tsx'
import { ErrorState, Loading } from '../../../components/status/states.tsx'
import { StatusDot } from '../../../components/status/status-dot.tsx'
import { catalogStrings as strings } from '../../../strings/settings.ts'
import { useSearchParams } from '../../../use-search-params.ts'
import { testCatalog } from '../api.ts'
import classes from '../settings.module.css'
import { ConnectionTestResult } from './connection-test.tsx'
import { CatalogEditor } from './editor.tsx'
import { CatalogFacts } from './facts.tsx'
import { RemoveCatalog } from './remove-catalog.tsx'

interface CatalogCardProps {
  readonly catalog: CatalogEntry
  readonly canChange: boolean
}

/** A catalog with its state and settings; leads can test, change and remove it. */
export function CatalogCard({ catalog, canChange }: CatalogCardProps) {
  const { name, is_default: isDefault, is_open: isOpen, problem, settings } = catalog
  const [{ action, target }, changeSearch] = useSearchParams()
  const isChanging = canChange && action === 'change' && target === name
  const id = `catalog-${name}`
  return (
    <section className={classes.catalog} aria-labelledby={id}>
      <header className={classes.actions}>
        <h2 id={id}>{name}</h2>
        {isDefault && <Badge variant="default">{strings.isDefault}</Badge>}
        <StatusDot tone={isOpen ? 'ok' : 'bad'} label={isOpen ? strings.open : strings.notOpen} />
        {!isDefault && <span className={classes.dimmed}>{strings.prefix(name)}</span>}
      </header>
      {!isOpen && (
        <Notice tone="bad" title={strings.notOpenTitle} role="status">
          {problem}
        </Notice>
      )}
      {isChanging ? (
        <ChangedCatalog catalog={catalog} onClose={() => changeSearch({ action: '', target: '' })} />
      ) : (
        <CatalogFacts config={settings} />
      )}
      {canChange && !isChanging && <CardActions catalog={catalog} />}
    </section>
  )
}

function CardActions({ catalog: { name, is_default: isDefault } }: Pick<CatalogCardProps, 'catalog'>) {
  const [, changeSearch] = useSearchParams()
  const test = useAction({ send: () => testCatalog(name) })
  return (
    <>
      <div className={classes.buttons}>
        <Button
          variant="default"
          loading={test.isPending}
          aria-label={strings.testLabel(name)}
          onClick={() => test.mutate()}
        >
          {strings.test.action}
        </Button>
        <Button
          variant="default"
          aria-label={strings.changeLabel(name)}
          onClick={() => changeSearch({ action: 'change', target: name })}
        >
          {strings.change}
        </Button>
        {!isDefault && <RemoveCatalog name={name} />}
      </div>
      <ConnectionTestResult test={test} />
    </>
  )
}

interface ChangedCatalogProps extends Pick<CatalogCardProps, 'catalog'> {
  readonly onClose: () => void
}

/** The form of a catalog, with the version of its settings that the form was filled with. */
function ChangedCatalog({ catalog: { name, is_default: isDefault }, onClose }: ChangedCatalogProps) {
  const own = useQuery({ ...configQuery, enabled: isDefault })
  const other = useQuery({ ...catalogQuery(name), enabled: !isDefault })
  const { data, error, isError, refetch } = isDefault ? own : other
  if (data) return <CatalogEditor kind={isDefault ? 'default' : 'other'} current={data} onClose={onClose} />
  return isError ? <ErrorState error={error} onRetry={() => void refetch()} /> : <Loading />
}
