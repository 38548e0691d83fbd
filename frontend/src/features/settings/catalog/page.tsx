import { useQuery } from '@tanstack/react-query'
import { useCan } from '../../../api/session.ts'
import { Notice } from '../../../components/status/notice.tsx'
import { ErrorState, Loading } from '../../../components/status/states.tsx'
import { catalogStrings as strings } from '../../../strings/settings.ts'
import { configQuery } from '../../../api/catalog-config.ts'
import { CatalogEditor } from './editor.tsx'
import { CatalogFacts } from './facts.tsx'
import { SettingsFrame } from '../settings-frame.tsx'

/** The catalog in use: read by all, changed by leads. */
export function CatalogPage() {
  const canChange = useCan('LeadDataEngineer')
  const { data, error, isError, refetch } = useQuery(configQuery)
  return (
    <SettingsFrame tab="catalog" lead={strings.lead}>
      {data && !data.config.configured ? <Notice tone="warn">{strings.notConfigured}</Notice> : undefined}
      {!data && isError ? <ErrorState error={error} onRetry={() => void refetch()} /> : undefined}
      {!data && !isError ? <Loading /> : undefined}
      {data && canChange ? <CatalogEditor current={data} /> : undefined}
      {data && !canChange ? <CatalogFacts config={data.config} /> : undefined}
    </SettingsFrame>
  )
}
