"""Reads the runs that mlflow_samples writes, by MLflow's own client: read_mlflow.py mlflow_samples"""
import math
import os
import subprocess
import sys
import tempfile

os.environ["MLFLOW_ALLOW_FILE_STORE"] = "true"
from mlflow import MlflowClient
from mlflow.entities import ViewType

with tempfile.TemporaryDirectory() as name:
    store = os.path.join(name, "mlruns of us")
    # An experiment that MLflow itself made is gone on with.
    client = MlflowClient(tracking_uri=store)
    theirs = client.create_experiment('digits: "a" é')
    subprocess.run([sys.argv[1], store], check=True)
    experiments = client.search_experiments(view_type=ViewType.ALL)
    ours = [experiment for experiment in experiments if experiment.name == 'digits: "a" é']
    assert [experiment.experiment_id for experiment in ours] == [theirs], experiments
    runs = {run.info.run_name: run for run in client.search_runs([theirs])}
    assert len(runs) == 3, runs
    first = runs.pop("first 'run'")
    assert first.info.status == "FINISHED" and first.info.end_time >= first.info.start_time > 0, first
    assert first.data.params == {"rate": "0.5", "model.name": 'gpt: "tiny"', "model.depth": "4"}, first.data.params
    assert first.data.tags["valid/sample"] == "words\nof step 8" and first.data.tags["mlflow.runName"] == "first 'run'"
    assert set(first.data.metrics) == {"step/loss", "step/rate", "step/rate of group 1", "valid/loss", "valid/a _b_"}
    assert math.isclose(first.data.metrics["valid/loss"], 0.8) and math.isnan(first.data.metrics["valid/a _b_"])
    history = client.get_metric_history(first.info.run_id, "step/loss")
    assert [(point.step, point.value) for point in history] == [(step, 1 / step) for step in range(1, 9)], history
    again = runs.pop("again")
    assert [p.step for p in client.get_metric_history(again.info.run_id, "step/loss")] == [1]
    assert "valid/loss" not in again.data.metrics and again.info.status == "FINISHED"
    (unnamed,) = runs.values()
    assert unnamed.info.status == "RUNNING" and unnamed.info.end_time is None

    # Without one, an experiment is made that MLflow finds.
    store = os.path.join(name, "new")
    subprocess.run([sys.argv[1], store], check=True)
    client = MlflowClient(tracking_uri=store)
    experiment = client.get_experiment_by_name('digits: "a" é')
    assert experiment.lifecycle_stage == "active" and len(client.search_runs([experiment.experiment_id])) == 3
    client.log_metric(client.search_runs([experiment.experiment_id])[0].info.run_id, "more", 1.0)
