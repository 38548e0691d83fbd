import { Button } from '@mantine/core'
import type { AuditVerification } from '../../../api/types.ts'
import { type Action, useAction } from '../../../api/actions/use-action.ts'
import { Notice } from '../../../components/status/notice.tsx'
import { Copyable } from '../../../components/text/copyable.tsx'
import { errorText } from '../../../components/status/states.tsx'
import { formatPlural } from '../../../strings/everywhere/units.ts'
import { auditStrings } from '../../../strings/operations.ts'
import { verifyAudit } from './api.ts'

const strings = auditStrings.verify

type Verification = Action<void, AuditVerification>

interface VerificationProps {
  readonly verification: Verification
}

/** Verifies the whole chain on request. */
export function useVerification(): Verification {
  return useAction({ send: verifyAudit })
}

/** Starts the verification. */
export function VerifyButton({ verification }: VerificationProps) {
  return (
    <Button variant="default" loading={verification.isPending} onClick={() => verification.mutate()}>
      {strings.action}
    </Button>
  )
}

/** The result of the last verification, until it is closed. */
export function VerificationResult({ verification }: VerificationProps) {
  const { data, error } = verification
  if (error) {
    return (
      <Notice tone="warn" title={strings.failed} role="alert">
        {errorText(error)}
      </Notice>
    )
  }
  if (!data) return undefined
  const entries = formatPlural(data.checked, strings.entry, strings.entries)
  if (!data.ok) {
    return (
      <Notice tone="bad" title={strings.badTitle} role="alert">
        {strings.bad(data.first_bad ?? 0, data.reason ?? strings.noReason)} {strings.checked(entries)}
      </Notice>
    )
  }
  return (
    <Notice tone="ok" title={strings.ok(entries)} role="status" onClose={() => verification.reset()}>
      {strings.head(data.head.seq)}{' '}
      <Copyable text={data.head.hash} shown={`${data.head.hash.slice(0, 16)}…`} what={strings.hash} />. {strings.keep}
    </Notice>
  )
}
