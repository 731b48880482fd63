"""Prints which agents cost how much this month, with coroutines: AGENT_SERVICE_URL, AGENT_SERVICE_KEY."""

import asyncio
import os

from agent_service import AsyncAgentService


async def main() -> None:
    async with AsyncAgentService(os.environ["AGENT_SERVICE_URL"], api_key=os.environ["AGENT_SERVICE_KEY"]) as service:
        summary, balance = await asyncio.gather(service.get_usage_summary(), service.get_balance())
        print(f"{summary.data.total_credits_used} credits used by {summary.data.active_users} users, {balance.data.balance} left")
        for agent in summary.data.most_used_agents:
            print(f"{agent.credits_used:>8}  {agent.name}")
        async for agent in service.entries(service.list_agents, status="active"):
            print(f"  active  {agent.name}")


if __name__ == "__main__":
    asyncio.run(main())
