import { Title } from '@mantine/core'
import { Fragment, type ReactNode } from 'react'
import type { Policy } from '../../api/types.ts'
import { policies as words } from '../../strings/policies.ts'
import { RelativeTime } from '../../time/relative-time.tsx'
import { budgetText, conditionTexts, operationTexts, windowText } from './policy-words.ts'
import classes from './policies.module.css'

/** The settings of a policy. */
export function PolicyFacts({ policy }: { readonly policy: Policy }) {
  const { facts } = words
  const rows: readonly (readonly [string, ReactNode])[] = [
    [facts.tables, `${policy.tables.join(', ')} (${facts.matched(policy.matched_tables)})`],
    ...(policy.except.length === 0 ? [] : [[facts.except, policy.except.join(', ')] as const]),
    [facts.operations, <Lines key="operations" texts={operationTexts(policy)} />],
    [facts.when, <Lines key="when" texts={conditionTexts(policy)} />],
    [facts.window, windowText(policy)],
    [facts.budget, budgetText(policy)],
    [facts.cooldown, policy.cooldown],
    [facts.priority, policy.priority],
    [facts.createdBy, policy.created_by],
    [facts.changed, <RelativeTime key="changed" at={policy.updated_at} />],
  ]
  return (
    <section className={classes.section}>
      <Title order={2}>{words.settings}</Title>
      <dl className={classes.facts}>
        {rows.map(([name, value]) => (
          <Fragment key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </Fragment>
        ))}
      </dl>
    </section>
  )
}

function Lines({ texts }: { readonly texts: readonly string[] }) {
  return texts.map((text) => <div key={text}>{text}</div>)
}
