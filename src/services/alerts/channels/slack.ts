import { cut, type Notification } from '../notification.ts'
import { idHeader, type SendThrough } from './channel.ts'

// Limits of Block Kit: a header has 150 characters, a section 10 fields of 2000.
const MAX_HEADER = 150
const MAX_FIELDS = 10
const MAX_FIELD = 2000

/** A message of Block Kit for an incoming webhook of Slack, or of a server that takes the same. */
export const sendToSlack: SendThrough<'slack'> = (tools, { url }, { notification, signal }) =>
  tools.send({ url, headers: idHeader(notification), body: JSON.stringify(slackMessage(notification)), signal })

function slackMessage(notification: Notification) {
  const { title, facts, alert, event } = notification
  const fields = facts.map(({ name, value }) => markdown(cut(`*${escaped(name)}*\n${escaped(value)}`, MAX_FIELD)))
  const sections = Array.from({ length: Math.ceil(fields.length / MAX_FIELDS) }, (_, part) => ({
    type: 'section',
    fields: fields.slice(part * MAX_FIELDS, (part + 1) * MAX_FIELDS),
  }))
  return {
    text: escaped(cut(`${symbolOf(notification)} ${title}`, MAX_FIELD)),
    blocks: [
      {
        type: 'header',
        text: { type: 'plain_text', text: cut(`${symbolOf(notification)} ${title}`, MAX_HEADER), emoji: true },
      },
      ...sections,
      { type: 'context', elements: [markdown(`Alert ${escaped(alert.name)} · ${event.at}`)] },
    ],
  }
}

function symbolOf({ kind, severity }: Notification): string {
  if (kind === 'resolve') return '✅'
  return severity === 'info' ? 'ℹ️' : severity === 'warning' ? '⚠️' : '🔴'
}

function markdown(text: string) {
  return { type: 'mrkdwn', text }
}

/** Slack's three control characters, so that names and errors cannot mention people or make links. */
function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}
