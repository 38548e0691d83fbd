import { Button } from '@mantine/core'
import type { Policy } from '../../api/types.ts'
import { useAction } from '../../api/actions/use-action.ts'
import { Note } from '../../components/status/note.tsx'
import { errorText } from '../../components/status/states.tsx'
import { formatPlural } from '../../strings/everywhere/units.ts'
import { policies } from '../../strings/policies.ts'
import { resumePolicy } from './api.ts'

const words = policies.suspended

interface SuspendedProps {
  readonly policy: Policy
  readonly canResume: boolean
}

/** Says for how many tables a policy is suspended, and ends that. */
export function SuspendedNotice({ policy, canResume }: SuspendedProps) {
  const resume = useAction({
    send: () => resumePolicy(policy.id, undefined),
    changes: ['policies'],
    said: ({ resumed_tables: tables }) => words.resumed(formatPlural(tables.length, 'table')),
  })
  return (
    <Note
      tone="warn"
      title={words.title(formatPlural(policy.suspended_tables, 'table'))}
      action={
        canResume && (
          <Button variant="default" loading={resume.isPending} onClick={() => resume.mutate()}>
            {words.resume}
          </Button>
        )
      }
    >
      {resume.isError ? errorText(resume.error) : words.text}
    </Note>
  )
}
