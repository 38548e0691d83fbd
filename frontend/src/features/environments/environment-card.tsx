import { Button } from '@mantine/core'
import { type ReactNode, useId } from 'react'
import type { EnvironmentSettings } from '../../api/types.ts'
import { EditIcon } from '../../components/icons.tsx'
import { managedNotice } from '../../strings/everywhere/managed.ts'
import { formatBytes, formatCount } from '../../strings/everywhere/units.ts'
import { deploymentStrings } from '../../strings/deployments.ts'
import { environmentRules as rules, environments, environmentStrings as words } from '../../strings/environments.ts'
import { RunningHere } from '../deployments/running-here.tsx'
import { RelativeTime } from '../../time/relative-time.tsx'
import { SECRET, typedValue } from './form.ts'
import { approvalTexts, rollbackText, windowTexts } from './rule-words.ts'
import classes from './environments.module.css'

interface EnvironmentCardProps {
  readonly settings: EnvironmentSettings
  /** Absent: the user may only read. */
  readonly onEdit?: () => void
}

/** The settings of one environment. */
export function EnvironmentCard({ settings, onEdit }: EnvironmentCardProps) {
  const { environment, parameters, writes, deploy, defaults, updated_at: updatedAt } = settings
  const headingId = useId()
  const name = environments[environment]
  const notice = managedNotice(settings)
  return (
    <section className={classes.card} aria-labelledby={headingId}>
      <header className={classes.head}>
        <h2 id={headingId}>{name}</h2>
        {onEdit && (
          <Button
            variant="default"
            size="xs"
            leftSection={<EditIcon size={14} />}
            aria-label={words.editOne(name)}
            onClick={onEdit}
          >
            {words.edit}
          </Button>
        )}
      </header>
      {notice !== undefined && <p className={classes.dimmed}>{notice}</p>}
      <Part title={words.parameters}>
        <Parameters parameters={parameters} />
      </Part>
      <Part title={words.writes}>
        <WriteRules writes={writes} />
      </Part>
      <Part title={words.deploy}>
        <p>{words.deployModes[deploy]}</p>
        <p className={classes.dimmed}>{words.deployHelp[deploy]}</p>
      </Part>
      <Part title={words.defaults}>
        <Defaults defaults={defaults} />
      </Part>
      <Part title={rules.approvals}>
        <Lines texts={approvalTexts(settings)} />
      </Part>
      <Part title={rules.windows}>
        {settings.windows.length === 0 ? <p>{rules.noWindows}</p> : <Lines texts={windowTexts(settings)} />}
      </Part>
      <Part title={rules.rollback}>
        <p>{rollbackText(settings)}</p>
      </Part>
      <Part title={deploymentStrings.here.title}>
        <RunningHere environment={environment} />
      </Part>
      <p className={classes.changed}>
        {updatedAt === null ? (
          words.neverChanged
        ) : (
          <>
            {words.changed} <RelativeTime at={updatedAt} />
          </>
        )}
      </p>
    </section>
  )
}

function Part({ title, children }: { readonly title: string; readonly children: ReactNode }) {
  return (
    <div className={classes.part}>
      <h3>{title}</h3>
      {children}
    </div>
  )
}

function Lines({ texts }: { readonly texts: readonly string[] }) {
  return texts.map((text) => <p key={text}>{text}</p>)
}

function Parameters({ parameters }: Pick<EnvironmentSettings, 'parameters'>) {
  const entries = Object.entries(parameters)
  if (entries.length === 0) return <p className={classes.dimmed}>{words.noParameters}</p>
  return (
    <dl className={classes.parameters}>
      {entries.map(([name, value]) => {
        const { type, value: text } = typedValue(value)
        return (
          <div key={name}>
            <dt>{name}</dt>
            <dd>
              <span className={classes.value}>{type === 'secret' ? SECRET + text : text}</span>{' '}
              <span className={classes.type} title={type === 'secret' ? words.secretHelp : undefined}>
                {text === '' ? `${words.types[type]}, ${words.emptyText}` : words.types[type]}
              </span>
            </dd>
          </div>
        )
      })}
    </dl>
  )
}

function WriteRules({ writes }: Pick<EnvironmentSettings, 'writes'>) {
  if (writes.length === 0) return <p>{words.writesNone}</p>
  if (writes.includes('*')) return <p>{words.writesAll}</p>
  return (
    <>
      <p>{words.writesSome}</p>
      <ul className={classes.rules}>
        {writes.map((rule) => (
          <li key={rule}>{rule}</li>
        ))}
      </ul>
    </>
  )
}

function Defaults({ defaults }: Pick<EnvironmentSettings, 'defaults'>) {
  const rows = [
    [words.fields.trigger_interval, defaults.trigger_interval],
    [words.fields.checkpoint_root, defaults.checkpoint_root],
    [words.fields.max_files_per_batch, formatCount(defaults.max_files_per_batch)],
    [words.fields.max_bytes_per_batch, formatBytes(defaults.max_bytes_per_batch)],
    [words.fields.engine, words.engines[defaults.engine]],
  ] as const
  return (
    <dl className={classes.facts}>
      {rows.map(([label, value]) => (
        <div key={label}>
          <dt>{label}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  )
}
