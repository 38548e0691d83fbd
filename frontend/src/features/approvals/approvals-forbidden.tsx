import { Link } from '@tanstack/react-router'
import { Page } from '../../components/page/page.tsx'
import { Empty } from '../../components/status/states.tsx'
import { approvalStrings as strings } from '../../strings/approvals.ts'

/** Shown to auditors instead of approvals, with a link to the definitions. */
export function ApprovalsForbidden() {
  const { title, text, link } = strings.forbidden
  return (
    <Page title={strings.title}>
      <Empty title={title} detail={text} action={<Link to="/definitions">{link}</Link>} />
    </Page>
  )
}
