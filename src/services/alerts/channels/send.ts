import type { AlertChannel } from '../../../schemas/alerts.ts'
import type { Reply } from '../../outbound/http-sender.ts'
import type { ChannelTools, Dispatch } from './channel.ts'
import { sendByMail } from './email.ts'
import { sendToPagerDuty } from './pagerduty.ts'
import { sendToSlack } from './slack.ts'
import { sendToTeams } from './teams.ts'
import { sendToWebhook } from './webhook.ts'

/** Sends a notification through any channel; its secrets are resolved. */
export function sendThrough(tools: ChannelTools, channel: AlertChannel, dispatch: Dispatch): Promise<Reply> {
  switch (channel.type) {
    case 'webhook':
      return sendToWebhook(tools, channel, dispatch)
    case 'slack':
      return sendToSlack(tools, channel, dispatch)
    case 'teams':
      return sendToTeams(tools, channel, dispatch)
    case 'pagerduty':
      return sendToPagerDuty(tools, channel, dispatch)
    case 'email':
      return sendByMail(tools, channel, dispatch)
  }
}
