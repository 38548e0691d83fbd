import { Link } from '@tanstack/react-router'
import { useCan } from '../../../api/session.ts'
import { Page } from '../../../components/page/page.tsx'
import { Empty } from '../../../components/status/states.tsx'
import { auditStrings as strings } from '../../../strings/operations.ts'
import { useSearchParams } from '../../../use-search-params.ts'
import { AuditFilters } from './filters.tsx'
import { AuditList } from './list.tsx'
import { AUDIT_FILTERS, readAuditSearch } from './search.ts'
import { useVerification, VerificationResult, VerifyButton } from './verification.tsx'

/** The audit log of changes and denials; the filters are in the URL. */
export function AuditPage() {
  const isLead = useCan('LeadDataEngineer')
  return isLead ? <AuditLog /> : <AuditForbidden />
}

function AuditForbidden() {
  const { title, text, link } = strings.forbidden
  return (
    <Page title={strings.title}>
      <Empty title={title} detail={text} action={<Link to="/operations">{link}</Link>} />
    </Page>
  )
}

const NO_FILTERS = Object.fromEntries(AUDIT_FILTERS.map((name) => [name, undefined]))

function AuditLog() {
  const [params, changeSearch] = useSearchParams()
  const search = readAuditSearch(params)
  const verification = useVerification()
  const clear = Object.keys(search).length === 0 ? undefined : () => changeSearch({ ...NO_FILTERS, entry: undefined })
  return (
    <Page title={strings.title} lead={strings.lead} fill actions={<VerifyButton verification={verification} />}>
      <VerificationResult verification={verification} />
      <AuditFilters
        key={JSON.stringify(search)}
        search={search}
        onApply={(next) => changeSearch({ ...NO_FILTERS, entry: undefined, ...next })}
        onClear={clear}
      />
      <AuditList search={search} open={params['entry']} onOpen={(entry) => changeSearch({ entry })} onClear={clear} />
    </Page>
  )
}
