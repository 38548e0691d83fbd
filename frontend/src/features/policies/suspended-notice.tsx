import { Button } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import type { Policy } from '../../api/types.ts'
import { Note } from '../../components/status/note.tsx'
import { errorText } from '../../components/status/states.tsx'
import { formatPlural } from '../../strings/everywhere/units.ts'
import { policies } from '../../strings/policies.ts'
import { POLICIES_KEY, resumePolicy } from './api.ts'

const words = policies.suspended

interface SuspendedProps {
  readonly policy: Policy
  readonly canResume: boolean
}

/** Says for how many tables a policy is suspended, and ends that. */
export function SuspendedNotice({ policy, canResume }: SuspendedProps) {
  const client = useQueryClient()
  const resume = useMutation({
    mutationFn: () => resumePolicy(policy.id, undefined),
    onSuccess: ({ resumed_tables: tables }) => {
      notifications.show({ message: words.resumed(formatPlural(tables.length, 'table')) })
      return client.invalidateQueries({ queryKey: POLICIES_KEY })
    },
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
