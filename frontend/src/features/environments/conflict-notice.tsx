import { Button, Group } from '@mantine/core'
import type { EnvironmentSettings } from '../../api/types.ts'
import { Notice } from '../../components/status/notice.tsx'
import { environmentForm, environmentRules, environmentStrings } from '../../strings/environments.ts'
import { differences } from './form.ts'

const words = environmentForm.conflict
const LABELS: Readonly<Record<string, string>> = {
  ...environmentStrings.fields,
  writes: environmentStrings.writes,
  deploy: environmentStrings.deploy,
  approvals: environmentRules.approvals,
  windows: environmentRules.windows,
  rollback_if: environmentRules.rollback,
}

interface ConflictProps {
  /** The settings that the form began with. */
  readonly base: EnvironmentSettings
  /** The settings as they are now; the same as `base` until they are loaded. */
  readonly current: EnvironmentSettings
  readonly onReload: (keeps: boolean) => void
}

/** Says that the settings were changed since the form was opened, what was changed, and offers to continue from there. */
export function ConflictNotice({ base, current, onReload }: ConflictProps) {
  const isLoaded = current.revision !== base.revision
  const fields = differences(base, current).map(({ kind, name }) => (kind === 'parameter' ? name : LABELS[name]))
  return (
    <Notice tone="warn" title={words.title} role="alert">
      <div>
        {words.text} {!isLoaded && words.loading} {fields.length > 0 && words.theirs(fields.join(', '))}
      </div>
      {isLoaded && (
        <Group gap="xs" mt="xs">
          <Button variant="default" onClick={() => onReload(true)}>
            {words.keep}
          </Button>
          <Button variant="default" onClick={() => onReload(false)}>
            {words.discard}
          </Button>
        </Group>
      )}
    </Notice>
  )
}
